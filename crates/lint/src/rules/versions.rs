//! Incompatible versions.

use casement_catalog::{
    ContainerdFit, Minor, WindowsSupport, containerd_fit, containerd_series, kubelet_range,
    open_faults, recommended_containerd, windows_support,
};
use casement_diag::{Diagnostic, Source};
use casement_spec::{Host, RuntimeKind, WindowsComponents};
use semver::Version;

use crate::context::{Context, build, minor};
use crate::rule::{Rule, rule};
use crate::statement::Statement;

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-VER-001", Error, Spec, "L046, I1", windows),
    rule!("CAS-VER-002", Error, Spec, "L046", docker_only),
    rule!("CAS-VER-003", Error, SpecFirst, "L037", docker_host_process),
    rule!("CAS-VER-004", Error, Spec, "L037, I6", containerd),
    rule!("CAS-VER-005", Error, SpecFirst, "L037", host_process),
    rule!("CAS-VER-010", Error, FilesFirst, "L036, A7, I5", skew),
    rule!("CAS-VER-014", Error, Together, "K10, I6", file_version),
    rule!("CAS-VER-015", Warning, Spec, "A4", vulnerabilities),
];

/// The Kubernetes version in the cluster file.
fn kubernetes_version(context: &Context<'_>) -> Option<(Minor, String)> {
    let version = &context.spec?.cluster.spec.kubernetes.version;
    Some((Minor::of(version.as_semver())?, version.to_string()))
}

fn vulnerabilities(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec.filter(|_| context.has_windows()) else {
        return Vec::new();
    };
    let version = &spec.cluster.spec.kubernetes.version;
    let open: Vec<_> = open_faults(version.as_semver()).collect();
    let Some(last) = open.last() else {
        return Vec::new();
    };
    let path = context.spec_path("kubernetes.version");
    let message = format!(
        "Kubernetes {version} has known vulnerabilities on Windows nodes, all of them fixed in {}",
        last.version
    );
    let finding = Diagnostic::warning(path, message).in_file(spec.map.name());
    let finding = open.iter().fold(finding, |finding, fault| {
        finding.note(format!("{}: {}", fault.source, fault.what))
    });
    let help = format!("use {} or a later release of the same line", last.version);
    vec![finding.help(help)]
}

/// A finding at the first of several affected hosts.
fn at_first(
    context: &Context<'_>,
    affected: &[(usize, &Host)],
    field: &str,
    message: String,
) -> Option<Diagnostic> {
    let (first, _) = affected.first()?;
    let finding = Diagnostic::error(context.host_path(*first).field(field), message);
    Some(match affected.len() - 1 {
        0 => finding,
        1 => finding.note("1 more host is affected"),
        more => finding.note(format!("{more} more hosts are affected")),
    })
}

fn windows(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some((minor, version)) = kubernetes_version(context) else {
        return Vec::new();
    };
    let runtime = context.spec.map(|spec| spec.cluster.spec.runtime.kind);
    let docker = runtime == Some(RuntimeKind::Docker);
    let mut findings = Vec::new();
    for (os, hosts) in context.windows_by_os() {
        // Without Docker, CAS-VER-002 reports older builds.
        let Some(build) = build(os).filter(|build| *build >= 17763 || docker) else {
            continue;
        };
        let (message, help) = match windows_support(minor, build) {
            WindowsSupport::Supported => continue,
            WindowsSupport::Until(last) => (
                format!(
                    "Kubernetes {version} does not support {os} (build {build}): the last version with support was {last}"
                ),
                format!("install Windows Server 2022 or newer, or use Kubernetes {last}"),
            ),
            WindowsSupport::Since(first) => (
                format!(
                    "Kubernetes {version} does not support {os} (build {build}): the first version with support is {first}"
                ),
                format!("use Kubernetes {first} or newer, or an older Windows Server"),
            ),
            WindowsSupport::Never => (
                format!("no Kubernetes version supports {os} (build {build})"),
                "install Windows Server 2022 or 2025".to_owned(),
            ),
        };
        let Some(finding) = at_first(context, &hosts, "os", message) else {
            continue;
        };
        findings.push(
            context
                .spec_label(finding, "kubernetes.version", "this Kubernetes")
                .note("`casement catalog kubernetes` lists the supported combinations")
                .help(help),
        );
    }
    findings
}

fn docker_only(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    if spec.cluster.spec.runtime.kind != RuntimeKind::Containerd {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (os, hosts) in context.windows_by_os() {
        if build(os).is_none_or(|build| build >= 17763) {
            continue;
        }
        let message = format!("{os} cannot run containerd, only Docker");
        let Some(finding) = at_first(context, &hosts, "os", message) else {
            continue;
        };
        findings.push(
            finding
                .note("containerd needs Windows interfaces that were added in Server 2019")
                .help("install Windows Server 2022 or newer, or set `runtime: {kind: docker}` with a Kubernetes version from that time"),
        );
    }
    findings
}

fn docker_host_process(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    if spec.cluster.spec.runtime.kind != RuntimeKind::Docker {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if spec.cluster.spec.windows.components == WindowsComponents::HostProcess {
        let finding = Diagnostic::error(
            context.spec_path("windows.components"),
            "`windows.components` is `host-process`, but `runtime.kind` is `docker`, which does not support HostProcess containers",
        );
        findings.push(
            context
                .spec_label(finding, "runtime.kind", "this runtime")
                .note("only containerd supports HostProcess containers; with Docker the kubelet never starts them")
                .help("set `components: services`, or use containerd"),
        );
    }
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let Some(name) = pod.object.at("metadata.name") else {
            continue;
        };
        let finding = name.error(format!(
            "{} has HostProcess containers, but `runtime.kind` is `docker`, which does not support them",
            pod.title()
        ));
        findings.push(
            context
                .spec_label(finding, "runtime.kind", "this runtime")
                .help("use containerd, or run the program as a service"),
        );
    }
    findings
}

/// The containerd version in the cluster file.
fn containerd_version(context: &Context<'_>) -> Option<Version> {
    let runtime = &context.spec?.cluster.spec.runtime;
    if runtime.kind != RuntimeKind::Containerd {
        return None;
    }
    let numbers = runtime.version.as_ref()?.numbers();
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    Some(Version::new(number(0), number(1), number(2)))
}

fn containerd(context: &Context<'_>) -> Vec<Diagnostic> {
    let (Some((minor, version)), Some(containerd)) =
        (kubernetes_version(context), containerd_version(context))
    else {
        return Vec::new();
    };
    let message = match containerd_fit(minor, &containerd) {
        ContainerdFit::TooOld(oldest) => {
            format!(
                "containerd {containerd} is too old for Kubernetes {version}, which needs {} or newer",
                oldest.version()
            )
        }
        ContainerdFit::TooNew(first) => {
            format!(
                "containerd {containerd} is too new for Kubernetes {version}: since {} they have no common API version",
                first.version()
            )
        }
        ContainerdFit::Recommended | ContainerdFit::Unlisted | ContainerdFit::Unknown => {
            return Vec::new();
        }
    };
    let finding = Diagnostic::error(context.spec_path("runtime.version"), message);
    let finding = context.spec_label(finding, "kubernetes.version", "this Kubernetes");
    vec![match recommended_containerd(minor) {
        Some(good) => {
            let good = good.version();
            finding
                .help(format!("set `version: {good}`"))
                .replace(format!("set {good}"), good.to_string())
        }
        None => finding.help("`casement catalog containerd` lists the supported combinations"),
    }]
}

fn host_process(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(containerd) = containerd_version(context) else {
        return Vec::new();
    };
    if containerd >= Version::new(1, 7, 0) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let components = context
        .spec
        .map(|spec| spec.cluster.spec.windows.components);
    if components == Some(WindowsComponents::HostProcess) && containerd < Version::new(1, 6, 0) {
        let finding = Diagnostic::error(
            context.spec_path("windows.components"),
            format!(
                "`windows.components: host-process` needs containerd 1.6, but `runtime.version` is {containerd}"
            ),
        );
        findings.push(
            context
                .spec_label(finding, "runtime.version", "this containerd")
                .help("use containerd 1.7 or newer, or set `components: services`"),
        );
    }
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let Some(name) = pod.object.at("metadata.name") else {
            continue;
        };
        let uses_sandbox_path = pod.containers().iter().any(|container| {
            let sandbox = |value: casement_source::foreign::Value<'_>| {
                value
                    .text()
                    .is_some_and(|text| text.contains("CONTAINER_SANDBOX_MOUNT_POINT"))
            };
            let args = container
                .get("args")
                .map(|args| args.items())
                .unwrap_or_default();
            let command = container
                .get("command")
                .map(|command| command.items())
                .unwrap_or_default();
            args.into_iter().chain(command).any(sandbox)
        });
        let unsupported = containerd < Version::new(1, 6, 0);
        if !unsupported && uses_sandbox_path {
            continue;
        }
        let message = match unsupported {
            true => format!(
                "{} has HostProcess containers, which need containerd 1.6, but `runtime.version` is {containerd}",
                pod.title()
            ),
            false => format!(
                "{} uses volumes at their own paths, which needs containerd 1.7, but `runtime.version` is {containerd}",
                pod.title()
            ),
        };
        let finding = context.spec_label(name.error(message), "runtime.version", "this containerd");
        findings.push(
            finding
                .note("containerd 1.6 mounts volumes under `$CONTAINER_SANDBOX_MOUNT_POINT`, 1.7 at their own paths")
                .help("use containerd 1.7 or newer"),
        );
    }
    findings
}

fn skew(context: &Context<'_>) -> Vec<Diagnostic> {
    let servers = context.kubeadm_kind("ClusterConfiguration");
    let server = servers.into_iter().find_map(|document| {
        let value = document.get("kubernetesVersion")?;
        Statement::new("the API server", &value)
    });
    let mut nodes: Vec<Statement> = Vec::new();
    nodes.extend(context.spec_statement("kubernetes.version", |cluster| {
        cluster.spec.kubernetes.version.to_string()
    }));
    for pod in context.pods.iter().filter(|pod| pod.is_windows()) {
        for image in pod
            .containers()
            .iter()
            .filter_map(|container| container.get("image"))
        {
            let Some((name, tag)) = image
                .text()
                .and_then(|text| text.rsplit('/').next()?.split_once(':'))
            else {
                continue;
            };
            let version = tag.split('-').next().unwrap_or_default();
            if name == "kube-proxy" && minor(version).is_some() {
                nodes.push(Statement::derived("kube-proxy's image", &image, version));
            }
        }
    }
    let Some(server) = server.or_else(|| {
        context.spec_statement("kubernetes.version", |c| {
            c.spec.kubernetes.version.to_string()
        })
    }) else {
        return Vec::new();
    };
    let Some(api) = minor_of(&server.value) else {
        return Vec::new();
    };
    let range = kubelet_range(api);
    let mut findings = Vec::new();
    for node in nodes {
        let Some(own) = minor_of(&node.value).filter(|own| !range.contains(own)) else {
            continue;
        };
        let relation = if own > api {
            "newer than"
        } else {
            "too old for"
        };
        findings.push(
            Diagnostic::error(
                node.path.clone(),
                format!(
                    "{} {} is {relation} {} {}",
                    node.subject, node.value, server.subject, server.value
                ),
            )
            .in_file(node.file.as_str())
            .label_in(server.file.as_str(), server.path.clone(), "the API server")
            .note(format!(
                "this API server supports nodes with {} to {}",
                range.start(),
                range.end()
            ))
            .help(format!(
                "use {} on the nodes, or upgrade the control plane first",
                server.value
            )),
        );
    }
    findings
}

fn minor_of(text: &str) -> Option<Minor> {
    let (one, minor) = minor(text)?;
    let minor = u16::try_from(minor).ok()?;
    (one == 1).then(|| Minor::new(minor))
}

fn file_version(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(containerd) = containerd_version(context) else {
        return Vec::new();
    };
    let Some(series) = containerd_series(&containerd) else {
        return Vec::new();
    };
    let versions = context
        .containerds
        .iter()
        .filter_map(|config| config.get("version"));
    let newer = versions.filter(|version| {
        version
            .integer()
            .is_some_and(|v| v > i64::from(series.config_version))
    });
    newer
        .map(|value| {
            let supported = series.config_version;
            let finding = value.error(format!(
                "the configuration has version {}, but containerd {containerd} supports only {supported} and older",
                value.text().unwrap_or_default()
            ));
            context
                .spec_label(finding, "runtime.version", "this containerd")
                .note("containerd exits on a newer configuration version, and converts older ones")
                .help(format!("use version {supported}, or a newer containerd"))
        })
        .collect()
}
