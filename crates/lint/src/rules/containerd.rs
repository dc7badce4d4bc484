//! containerd's `config.toml`.

use casement_catalog::{ImageFit, PAUSES, image_fit, pause_of_tag};
use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::statement::{Statement, disagreements};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-IMG-010", Error, Files, "L029", directories),
    rule!("CAS-IMG-011", Error, Files, "K10, I6", tables),
    rule!("CAS-IMG-012", Warning, FilesFirst, "L031", different_pauses),
    rule!("CAS-IMG-013", Error, SpecFirst, "L030, I7", no_variant),
];

const OLD_CRI: &str = "io.containerd.grpc.v1.cri";
const RUNTIME: &str = "io.containerd.cri.v1.runtime";
const IMAGES: &str = "io.containerd.cri.v1.images";

fn plugin<'a>(config: &Value<'a>, name: &str) -> Option<Value<'a>> {
    config.get("plugins")?.get(name)
}

/// The pause image, in any version of the configuration.
pub(crate) fn sandbox<'a>(config: &Value<'a>) -> Option<Value<'a>> {
    let old = plugin(config, OLD_CRI).and_then(|cri| cri.get("sandbox_image"));
    old.or_else(|| plugin(config, IMAGES)?.at("pinned_images.sandbox"))
}

fn cni<'a>(config: &Value<'a>) -> Option<Value<'a>> {
    let cri = plugin(config, RUNTIME).or_else(|| plugin(config, OLD_CRI));
    cri?.get("cni")
}

fn directories(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for names in [
        &["CNI_CONFIG_PATH", "CNI_NET_DIR"],
        &["CNI_BIN_PATH", "CNI_BIN_DIR"],
    ] {
        let is_conf = names.contains(&"CNI_NET_DIR");
        let mut statements = Vec::new();
        for config in &context.containerds {
            let table = cni(config);
            let value = table.and_then(|table| match is_conf {
                true => table.get("conf_dir"),
                false => table
                    .get("bin_dir")
                    .or_else(|| table.get("bin_dirs")?.items().into_iter().next()),
            });
            statements
                .extend(value.and_then(|value| Statement::new("containerd's directory", &value)));
        }
        if statements.is_empty() {
            continue;
        }
        for container in context
            .pods
            .iter()
            .filter(|pod| pod.is_windows())
            .flat_map(|pod| pod.containers())
        {
            for variable in container
                .get("env")
                .map(|env| env.items())
                .unwrap_or_default()
            {
                let name = variable.get("name").and_then(|name| name.text());
                let Some(name) = name.filter(|name| names.contains(name)) else {
                    continue;
                };
                let value = variable.get("value");
                statements
                    .extend(value.and_then(|value| Statement::new(format!("`{name}`"), &value)));
            }
        }
        let why =
            "the node stays NotReady, because containerd finds no CNI configuration or no plugin";
        findings.extend(disagreements(
            &statements,
            "CNI directories",
            why,
            same_directory,
        ));
    }
    findings
}

/// Compares Windows paths, ignoring slashes, case and the drive letter.
fn same_directory(one: &str, other: &str) -> bool {
    let normalize = |path: &str| {
        let path = path.replace('\\', "/").to_ascii_lowercase();
        let path = path.trim_start_matches("/host");
        let path = path.strip_prefix("c:").unwrap_or(path);
        path.trim_end_matches('/').to_owned()
    };
    normalize(one) == normalize(other)
}

fn tables(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for config in &context.containerds {
        let Some(version) = config.get("version") else {
            continue;
        };
        let number = version.integer().unwrap_or_default();
        let misplaced: &[(&str, &str)] = match number {
            2 => &[(RUNTIME, OLD_CRI), (IMAGES, OLD_CRI)],
            3 | 4 => &[(OLD_CRI, RUNTIME)],
            _ => &[],
        };
        for (name, expected) in misplaced {
            let Some(table) = plugin(config, name) else {
                continue;
            };
            findings.push(
                table
                    .error(format!(
                        "`{name}` is ignored in configuration version {number}, use `{expected}`"
                    ))
                    .at(Part::Key)
                    .label_in(
                        version.file(),
                        version.path().clone(),
                        "the configuration version",
                    )
                    .note("containerd 1.x uses version 2, 2.0 to 2.2 use 3, and 2.3 uses 4")
                    .help(format!(
                        "move it to `[plugins.'{expected}']`, or change the version"
                    )),
            );
        }
    }
    findings
}

fn no_variant(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements: Vec<Statement> = context.spec_pause().into_iter().collect();
    for config in &context.containerds {
        statements.extend(
            sandbox(config).and_then(|value| Statement::new("containerd's pause image", &value)),
        );
    }
    let mut findings = Vec::new();
    for image in statements {
        let tag = image
            .value
            .rsplit('/')
            .next()
            .and_then(|last| last.split_once(':'));
        let Some(pause) = tag.and_then(|(_, tag)| pause_of_tag(tag)) else {
            continue;
        };
        let unsupported = context
            .windows_builds()
            .into_iter()
            .find(|(_, host)| !pause.builds.contains(host));
        let Some((host, build)) = unsupported else {
            continue;
        };
        let runs = pause
            .builds
            .iter()
            .any(|image| image_fit(build, *image) == ImageFit::Runs);
        let severity = if runs {
            Severity::Warning
        } else {
            Severity::Error
        };
        let better = PAUSES.iter().find(|other| other.builds.contains(&build));
        let message = format!(
            "pause {} has no image for build {build} of {host}",
            pause.tag
        );
        let finding =
            Diagnostic::new(severity, image.path.clone(), message).in_file(image.file.as_str());
        let finding = finding.note(match runs {
            true => "an older image runs there, but is not tested on that build",
            false => "no pod starts, because the image of its sandbox does not match",
        });
        findings.push(match better {
            Some(better) => {
                let new = image
                    .value
                    .replace(&format!(":{}", pause.tag), &format!(":{}", better.tag));
                finding
                    .help(format!("use `{new}`"))
                    .replace(format!("use `{new}`"), format!("\"{new}\""))
            }
            None => finding.help("`casement catalog pause` lists the builds of each pause image"),
        });
    }
    findings
}

fn different_pauses(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements = Vec::new();
    statements.extend(context.spec_pause());
    for config in &context.containerds {
        statements.extend(
            sandbox(config).and_then(|value| Statement::new("containerd's pause image", &value)),
        );
    }
    let args = context
        .kubeadm
        .iter()
        .filter_map(|document| document.at("nodeRegistration.kubeletExtraArgs"));
    for (name, value) in args.flat_map(|args| crate::rules::kubelet::arguments(&args)) {
        if name == "pod-infra-container-image" {
            statements.extend(Statement::new("the kubelet's pause image", &value));
        }
    }
    let why = "containerd uses its own setting; the other image is pulled or kept for nothing";
    let findings = disagreements(&statements, "pause images", why, |one, other| one == other);
    let warning = |mut finding: Diagnostic| {
        finding.severity = Severity::Warning;
        finding
    };
    findings.into_iter().map(warning).collect()
}
