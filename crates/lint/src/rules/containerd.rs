//! containerd's `config.toml`.

use casement_catalog::{ImageFit, PAUSES, image_fit, pause_of_tag};
use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::said::{Said, agree};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-IMG-010",
        Error,
        Files,
        "L029",
        "containerd reads another CNI folder than the CNI writes",
        folders
    ),
    rule!(
        "CAS-IMG-011",
        Error,
        Files,
        "K10, I6",
        "a table is for another version of containerd's file",
        tables
    ),
    rule!(
        "CAS-IMG-012",
        Warning,
        FilesFirst,
        "L031",
        "files name different pause images",
        two_pauses
    ),
    rule!(
        "CAS-IMG-013",
        Error,
        SpecFirst,
        "L030, I7",
        "the pause image has none for a Windows build",
        no_variant
    ),
];

const OLD_CRI: &str = "io.containerd.grpc.v1.cri";
const RUNTIME: &str = "io.containerd.cri.v1.runtime";
const IMAGES: &str = "io.containerd.cri.v1.images";

fn plugin<'a>(config: &Value<'a>, name: &str) -> Option<Value<'a>> {
    config.get("plugins")?.get(name)
}

/// The pause image, wherever this version of the file has it.
pub(crate) fn sandbox<'a>(config: &Value<'a>) -> Option<Value<'a>> {
    let old = plugin(config, OLD_CRI).and_then(|cri| cri.get("sandbox_image"));
    old.or_else(|| plugin(config, IMAGES)?.at("pinned_images.sandbox"))
}

fn cni<'a>(config: &Value<'a>) -> Option<Value<'a>> {
    let cri = plugin(config, RUNTIME).or_else(|| plugin(config, OLD_CRI));
    cri?.get("cni")
}

fn folders(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for names in [
        &["CNI_CONFIG_PATH", "CNI_NET_DIR"],
        &["CNI_BIN_PATH", "CNI_BIN_DIR"],
    ] {
        let is_conf = names.contains(&"CNI_NET_DIR");
        let mut said = Vec::new();
        for config in &context.containerds {
            let table = cni(config);
            let value = table.and_then(|table| match is_conf {
                true => table.get("conf_dir"),
                false => table
                    .get("bin_dir")
                    .or_else(|| table.get("bin_dirs")?.items().into_iter().next()),
            });
            said.extend(value.and_then(|value| Said::by("containerd's folder", &value)));
        }
        if said.is_empty() {
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
                said.extend(value.and_then(|value| Said::by(format!("`{name}`"), &value)));
            }
        }
        let why = "the node stays NotReady: containerd finds no CNI configuration or no plugin";
        findings.extend(agree(&said, "CNI folders", why, same_folder));
    }
    findings
}

/// Folders of Windows: slashes, case and the drive's letter do not count.
fn same_folder(one: &str, other: &str) -> bool {
    let plain = |path: &str| {
        let path = path.replace('\\', "/").to_ascii_lowercase();
        let path = path.trim_start_matches("/host");
        let path = path.strip_prefix("c:").unwrap_or(path);
        path.trim_end_matches('/').to_owned()
    };
    plain(one) == plain(other)
}

fn tables(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for config in &context.containerds {
        let Some(version) = config.get("version") else {
            continue;
        };
        let number = version.integer().unwrap_or_default();
        let wrong: &[(&str, &str)] = match number {
            2 => &[(RUNTIME, OLD_CRI), (IMAGES, OLD_CRI)],
            3 | 4 => &[(OLD_CRI, RUNTIME)],
            _ => &[],
        };
        for (name, right) in wrong {
            let Some(table) = plugin(config, name) else {
                continue;
            };
            findings.push(
                table
                    .error(format!(
                        "`{name}` is not read in a file of version {number}, there it is `{right}`"
                    ))
                    .at(Part::Key)
                    .label_in(version.file(), version.path().clone(), "the file's version")
                    .note("containerd 1.x has version 2, 2.0 to 2.2 have 3, and 2.3 has 4")
                    .help(format!(
                        "move it to `[plugins.'{right}']`, or write the version that has it"
                    )),
            );
        }
    }
    findings
}

fn no_variant(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut said: Vec<Said> = context.spec_pause().into_iter().collect();
    for config in &context.containerds {
        said.extend(sandbox(config).and_then(|value| Said::by("containerd's pause image", &value)));
    }
    let mut findings = Vec::new();
    for image in said {
        let tag = image
            .value
            .rsplit('/')
            .next()
            .and_then(|last| last.split_once(':'));
        let Some(pause) = tag.and_then(|(_, tag)| pause_of_tag(tag)) else {
            continue;
        };
        let lacking = context
            .windows_builds()
            .into_iter()
            .find(|(_, host)| !pause.builds.contains(host));
        let Some((host, build)) = lacking else {
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
            "pause {} has no image for build {build}, which {host} runs",
            pause.tag
        );
        let finding =
            Diagnostic::new(severity, image.path.clone(), message).within(image.file.as_str());
        let finding = finding.note(match runs {
            true => "an older image starts there, but is not what is tested for that build",
            false => "no pod starts: the sandbox comes first, and its image does not fit",
        });
        findings.push(match better {
            Some(better) => {
                let new = image
                    .value
                    .replace(&format!(":{}", pause.tag), &format!(":{}", better.tag));
                finding
                    .help(format!("write `{new}`"))
                    .replace(format!("write `{new}`"), format!("\"{new}\""))
            }
            None => finding.help("`casement catalog pause` lists the builds of each"),
        });
    }
    findings
}

fn two_pauses(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    said.extend(context.spec_pause());
    for config in &context.containerds {
        said.extend(sandbox(config).and_then(|value| Said::by("containerd's pause image", &value)));
    }
    let args = context
        .kubeadm
        .iter()
        .filter_map(|document| document.at("nodeRegistration.kubeletExtraArgs"));
    for (name, value) in args.flat_map(|args| crate::rules::kubelet::arguments(&args)) {
        if name == "pod-infra-container-image" {
            said.extend(Said::by("the kubelet's pause image", &value));
        }
    }
    let why =
        "containerd uses its own; the other is pulled, kept, or collected as garbage for nothing";
    let findings = agree(&said, "pause images", why, |one, other| one == other);
    let warning = |mut finding: Diagnostic| {
        finding.severity = Severity::Warning;
        finding
    };
    findings.into_iter().map(warning).collect()
}
