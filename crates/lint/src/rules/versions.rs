//! Versions that do not go together.

use casement_catalog::{
    ContainerdFit, Minor, WindowsSupport, containerd_fit, containerd_series, kubelet_range,
    open_faults, recommended_containerd, windows_support,
};
use casement_diag::{Diagnostic, Source};
use casement_spec::{Host, RuntimeKind, WindowsComponents};
use semver::Version;

use crate::context::{Context, build, minor};
use crate::rule::{Rule, rule};
use crate::said::Said;

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-VER-001",
        Error,
        Spec,
        "L046, I1",
        "this Kubernetes does not support this Windows",
        windows
    ),
    rule!(
        "CAS-VER-002",
        Error,
        Spec,
        "L046",
        "this Windows cannot run containerd",
        docker_only
    ),
    rule!(
        "CAS-VER-003",
        Error,
        SpecFirst,
        "L037",
        "Docker cannot run HostProcess containers",
        docker_host_process
    ),
    rule!(
        "CAS-VER-004",
        Error,
        Spec,
        "L037, I6",
        "this containerd is not for this Kubernetes",
        containerd
    ),
    rule!(
        "CAS-VER-005",
        Error,
        SpecFirst,
        "L037",
        "this containerd cannot run HostProcess containers as written",
        host_process
    ),
    rule!(
        "CAS-VER-010",
        Error,
        FilesFirst,
        "L036, A7, I5",
        "versions are too far apart",
        skew
    ),
    rule!(
        "CAS-VER-014",
        Error,
        Together,
        "K10, I6",
        "containerd's file is not for this containerd",
        file_version
    ),
    rule!(
        "CAS-VER-015",
        Warning,
        Spec,
        "A4",
        "this release has a hole that a later one closes",
        open_holes
    ),
];

/// The release of Kubernetes that the cluster file asks for.
fn wanted(context: &Context<'_>) -> Option<(Minor, String)> {
    let version = &context.spec?.cluster.spec.kubernetes.version;
    Some((Minor::of(version.as_semver())?, version.to_string()))
}

fn open_holes(context: &Context<'_>) -> Vec<Diagnostic> {
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
        "Windows nodes of {version} have known holes, {} closes the last of them",
        last.version
    );
    let finding = Diagnostic::warning(path, message).within(spec.map.name());
    let finding = open.iter().fold(finding, |finding, fault| {
        finding.note(format!("{}: {}", fault.source, fault.what))
    });
    let help = format!("take {} or a later one of its line", last.version);
    vec![finding.help(help)]
}

/// A finding at the first of several hosts that have the same fault.
fn at_first(
    context: &Context<'_>,
    faulty: &[(usize, &Host)],
    field: &str,
    message: String,
) -> Option<Diagnostic> {
    let (first, _) = faulty.first()?;
    let finding = Diagnostic::error(context.host_path(*first).field(field), message);
    Some(match faulty.len() - 1 {
        0 => finding,
        1 => finding.note("one more host is like it"),
        more => finding.note(format!("{more} more hosts are like it")),
    })
}

fn windows(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some((minor, version)) = wanted(context) else {
        return Vec::new();
    };
    let runtime = context.spec.map(|spec| spec.cluster.spec.runtime.kind);
    let docker = runtime == Some(RuntimeKind::Docker);
    let mut findings = Vec::new();
    for (os, hosts) in context.windows_by_os() {
        // Without Docker, what is older cannot even run the runtime: another rule.
        let Some(build) = build(os).filter(|build| *build >= 17763 || docker) else {
            continue;
        };
        let (message, help) = match windows_support(minor, build) {
            WindowsSupport::Supported => continue,
            WindowsSupport::Until(last) => (
                format!(
                    "Kubernetes {version} does not support {os} (build {build}): {last} was the last that did"
                ),
                format!("install Windows Server 2022 or newer there, or take Kubernetes {last}"),
            ),
            WindowsSupport::Since(first) => (
                format!(
                    "Kubernetes {version} does not support {os} (build {build}) yet: {first} is the first that does"
                ),
                format!("take Kubernetes {first} or newer, or an older Windows Server"),
            ),
            WindowsSupport::Never => (
                format!("no Kubernetes supports {os} (build {build})"),
                "install Windows Server 2022 or 2025 there".to_owned(),
            ),
        };
        let Some(finding) = at_first(context, &hosts, "os", message) else {
            continue;
        };
        findings.push(
            context
                .spec_label(finding, "kubernetes.version", "this Kubernetes")
                .note("`casement catalog kubernetes` lists what goes together")
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
                .note("containerd needs interfaces of Windows that came with Server 2019")
                .help("install Windows Server 2022 or newer there, or write `runtime: {kind: docker}` with a Kubernetes of that time"),
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
            "`windows.components` is `host-process`, and `runtime.kind` is `docker`, which has no such containers",
        );
        findings.push(
            context
                .spec_label(finding, "runtime.kind", "this runtime")
                .note("HostProcess containers are a feature of containerd; the kubelet never starts them on Docker")
                .help("write `components: services`, or take containerd"),
        );
    }
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let Some(name) = pod.object.at("metadata.name") else {
            continue;
        };
        let finding = name.error(format!(
            "{} has HostProcess containers, and `runtime.kind` is `docker`, which has none",
            pod.title()
        ));
        findings.push(
            context
                .spec_label(finding, "runtime.kind", "this runtime")
                .help("take containerd, or run the program as a service"),
        );
    }
    findings
}

/// The containerd that the cluster file asks for.
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
    let (Some((minor, version)), Some(containerd)) = (wanted(context), containerd_version(context))
    else {
        return Vec::new();
    };
    let message = match containerd_fit(minor, &containerd) {
        ContainerdFit::TooOld(oldest) => {
            format!(
                "containerd {containerd} is too old for Kubernetes {version}, which wants {} or newer",
                oldest.version()
            )
        }
        ContainerdFit::TooNew(first) => {
            format!(
                "containerd {containerd} is too new for Kubernetes {version}: from {} on they share no API",
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
                .help(format!("write `version: {good}`"))
                .replace(format!("write {good}"), good.to_string())
        }
        None => finding.help("`casement catalog containerd` lists what goes together"),
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
                "`windows.components: host-process` needs containerd 1.6, and `runtime.version` is {containerd}"
            ),
        );
        findings.push(
            context
                .spec_label(finding, "runtime.version", "this containerd")
                .help("take containerd 1.7 or newer, or write `components: services`"),
        );
    }
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let Some(name) = pod.object.at("metadata.name") else {
            continue;
        };
        let relies = pod.containers().iter().any(|container| {
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
        let none = containerd < Version::new(1, 6, 0);
        if !none && relies {
            continue;
        }
        let message = match none {
            true => format!(
                "{} has HostProcess containers, which need containerd 1.6, and `runtime.version` is {containerd}",
                pod.title()
            ),
            false => format!(
                "{} takes its volumes at their paths, which needs containerd 1.7, and `runtime.version` is {containerd}",
                pod.title()
            ),
        };
        let finding = context.spec_label(name.error(message), "runtime.version", "this containerd");
        findings.push(
            finding
                .note("containerd 1.6 puts volumes under `$CONTAINER_SANDBOX_MOUNT_POINT`, 1.7 binds them to their paths")
                .help("take containerd 1.7 or newer"),
        );
    }
    findings
}

fn skew(context: &Context<'_>) -> Vec<Diagnostic> {
    let servers = context.kubeadm_kind("ClusterConfiguration");
    let server = servers.into_iter().find_map(|document| {
        let value = document.get("kubernetesVersion")?;
        Said::by("the API server", &value)
    });
    let mut nodes: Vec<Said> = Vec::new();
    nodes.extend(context.spec_said("kubernetes.version", |cluster| {
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
                nodes.push(Said::meaning("kube-proxy's image", &image, version));
            }
        }
    }
    let Some(server) = server.or_else(|| {
        context.spec_said("kubernetes.version", |c| {
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
                    node.who, node.value, server.who, server.value
                ),
            )
            .within(node.file.as_str())
            .label_in(server.file.as_str(), server.path.clone(), "the API server")
            .note(format!(
                "with that API server, nodes run {} to {}",
                range.start(),
                range.end()
            ))
            .help(format!(
                "take {} on the nodes, or upgrade the control plane first",
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
            let right = series.config_version;
            let finding = value.error(format!(
                "the file has version {}, containerd {containerd} reads {right} and older",
                value.text().unwrap_or_default()
            ));
            context
                .spec_label(finding, "runtime.version", "this containerd")
                .note("containerd stops at a file that is newer than itself; older ones it translates")
                .help(format!("write it in version {right}, or take a newer containerd"))
        })
        .collect()
}
