//! Kubelet configurations.

use casement_diag::{Diagnostic, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-KLT-001", Error, FilesFirst, "L040, K8, I20", settings),
    rule!("CAS-KLT-002", Error, Files, "L038, K7, I21", endpoint),
    rule!("CAS-KLT-003", Error, Files, "L040", paths),
    rule!("CAS-KLT-005", Error, Files, "L038, K7", socket),
    rule!("CAS-KLT-007", Warning, Files, "L041", rotation),
    rule!("CAS-KLT-009", Error, Files, "I17", taint),
    rule!("CAS-KLT-010", Warning, Files, "L090", cloud),
];

pub(crate) const PIPE: &str = "npipe:////./pipe/containerd-containerd";

/// Configurations for Windows nodes, recognized by their content or file name.
fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Value<'a>> {
    context.kubelets.iter().filter(|kubelet| {
        let text = |name: &str| {
            kubelet
                .get(name)
                .and_then(|value| value.text())
                .unwrap_or_default()
        };
        let file = kubelet
            .file()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        text("containerRuntimeEndpoint").contains("pipe")
            || text("volumePluginDir").contains(':')
            || text("staticPodPath").contains(':')
            || taints(kubelet).iter().any(|taint| key(taint) == Some("os"))
            || file.contains("windows")
    })
}

fn taints<'a>(kubelet: &Value<'a>) -> Vec<Value<'a>> {
    let list = kubelet.get("registerWithTaints");
    list.map(|list| list.items()).unwrap_or_default()
}

fn key<'a>(value: &Value<'a>) -> Option<&'a str> {
    value.get("key").and_then(|key| key.text())
}

/// Extra arguments in a kubeadm configuration: a mapping, or since v1beta4 a list
/// of `name` and `value`.
pub(crate) fn arguments<'a>(args: &Value<'a>) -> Vec<(&'a str, Value<'a>)> {
    let listed = args.items().into_iter().filter_map(|item| {
        let name = item.get("name")?.text()?;
        Some((name, item.get("value")?))
    });
    args.entries().into_iter().chain(listed).collect()
}

fn settings(context: &Context<'_>) -> Vec<Diagnostic> {
    let old = context.minor().is_none_or(|minor| minor <= (1, 30));
    let mut findings = Vec::new();
    for kubelet in windows(context) {
        for (name, required) in [("cgroupsPerQOS", "false"), ("enforceNodeAllocatable", "[]")] {
            let value = kubelet.get(name);
            let set = value.as_ref().is_some_and(|value| {
                let none = value.items().iter().all(|item| item.text() == Some("none"));
                if name == "cgroupsPerQOS" {
                    value.boolean() == Some(false)
                } else {
                    value.is_list() && none
                }
            });
            if set || (value.is_none() && !old) {
                continue;
            }
            let Some(location) = value.clone().or_else(|| kubelet.get("kind")) else {
                continue;
            };
            let severity = if old {
                Severity::Error
            } else {
                Severity::Warning
            };
            let message = match &value {
                Some(value) => format!(
                    "`{name}` is {}, but on Windows it must be {required}",
                    shown(value)
                ),
                None => format!("`{name}` is not set, but on Windows it must be {required}"),
            };
            let finding = location
                .finding(severity, message)
                .note("up to 1.30 the kubelet does not start on Windows with the default; later versions log a warning")
                .help(format!("set `{name}: {required}`"));
            findings.push(if value.is_some() {
                finding.replace(format!("set to {required}"), required)
            } else {
                finding
            });
        }
        findings.extend(linux_only(kubelet));
    }
    findings
}

fn shown(value: &Value<'_>) -> String {
    match value.text() {
        Some(text) => text.to_owned(),
        None => {
            let items = value.items();
            let items: Vec<_> = items.iter().filter_map(Value::text).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Settings that Windows does not support.
fn linux_only(kubelet: &Value<'_>) -> Vec<Diagnostic> {
    const UNSET: [&str; 6] = [
        "singleProcessOOMKill",
        "userNamespaces",
        "kubeletCgroups",
        "systemCgroups",
        "kubeReservedCgroup",
        "systemReservedCgroup",
    ];
    let mut findings = Vec::new();
    for name in UNSET {
        if let Some(value) = kubelet.get(name) {
            findings.push(
                value
                    .error(format!(
                        "`{name}` is {}, but Windows does not support it",
                        shown(&value)
                    ))
                    .note("depending on its version, the kubelet does not start or ignores it")
                    .help(format!("remove `{name}`")),
            );
        }
    }
    let resolv = kubelet.get("resolvConf");
    if let Some(value) =
        resolv.filter(|value| value.text().is_some_and(|text| text.starts_with('/')))
    {
        let path = value.text().unwrap_or_default();
        findings.push(
            value
                .error(format!(
                    "`resolvConf` is {path}, which does not exist on Windows"
                ))
                .help("set `resolvConf: \"\"`")
                .replace("set to an empty string", "\"\""),
        );
    }
    let hard = kubelet
        .get("evictionHard")
        .map(|hard| hard.entries())
        .unwrap_or_default();
    for (signal, value) in hard
        .into_iter()
        .filter(|(signal, _)| signal.contains("inodes") || signal.contains("pid."))
    {
        findings.push(
            value
                .error(format!(
                    "the eviction signal `{signal}` does not exist on Windows"
                ))
                .help("use only `memory.available`, `nodefs.available` and `imagefs.available`"),
        );
    }
    findings
}

fn endpoint(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for kubelet in windows(context) {
        let value = kubelet.get("containerRuntimeEndpoint");
        let current = value.as_ref().and_then(Value::text);
        if current.is_some_and(|text| {
            !text.starts_with("unix:") && !text.starts_with('/') || text.contains("pipe")
        }) {
            continue;
        }
        let Some(location) = value.clone().or_else(|| kubelet.get("kind")) else {
            continue;
        };
        let message = match current {
            Some(text) => {
                format!(
                    "`containerRuntimeEndpoint` is {text}, but Windows needs a named pipe: {PIPE}"
                )
            }
            None => format!(
                "`containerRuntimeEndpoint` is not set and defaults to a Unix socket instead of {PIPE}"
            ),
        };
        let finding = location
            .error(message)
            .note("the default is a Linux socket, even on Windows")
            .help(format!("set `containerRuntimeEndpoint: {PIPE}`"));
        findings.push(if value.is_some() {
            finding.replace("set the pipe", format!("\"{PIPE}\""))
        } else {
            finding
        });
    }
    findings
}

fn paths(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for kubelet in windows(context) {
        for name in [
            "staticPodPath",
            "authentication.x509.clientCAFile",
            "tlsCertFile",
            "tlsPrivateKeyFile",
            "volumePluginDir",
        ] {
            let Some(value) = kubelet.at(name) else {
                continue;
            };
            let Some(text) = value.text().filter(|text| text.starts_with('/')) else {
                continue;
            };
            let better = format!("C:{text}");
            findings.push(
                value
                    .error(format!(
                        "`{text}` has no drive letter: the kubelet resolves it relative to its configuration"
                    ))
                    .help(format!("use `{better}`"))
                    .replace(format!("use `{better}`"), format!("\"{better}\"")),
            );
        }
    }
    findings
}

fn socket(context: &Context<'_>) -> Vec<Diagnostic> {
    let sockets = context
        .kubeadm
        .iter()
        .filter_map(|document| document.at("nodeRegistration.criSocket"));
    let endpoints = context
        .kubelets
        .iter()
        .filter_map(|kubelet| kubelet.get("containerRuntimeEndpoint"));
    let pipes = sockets
        .chain(endpoints)
        .filter(|value| value.text().is_some_and(|text| text.contains("pipe")));
    pipes
        .filter_map(|value| {
            let text = value.text()?;
            let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
            let expected = format!("npipe:////./pipe/{name}");
            let short = format!("npipe://./pipe/{name}");
            (text != expected && text != short).then(|| {
                value
                    .error(format!(
                        "`{text}` is not a valid pipe address, expected `{expected}`"
                    ))
                    .note("kubeadm rejects it as a path that is not absolute")
                    .help(format!("use `{expected}`"))
                    .replace(format!("use `{expected}`"), format!("\"{expected}\""))
            })
        })
        .collect()
}

fn rotation(context: &Context<'_>) -> Vec<Diagnostic> {
    let values = context
        .kubelets
        .iter()
        .filter_map(|kubelet| kubelet.get("rotateCertificates"));
    values
        .filter(|value| value.boolean() == Some(false))
        .map(|value| {
            value
                .warning("`rotateCertificates` is false: the node fails when its certificate expires after a year")
                .help("set `rotateCertificates: true`")
                .replace("set to true", "true")
        })
        .collect()
}

fn taint(context: &Context<'_>) -> Vec<Diagnostic> {
    let registered = context.kubelets.iter().flat_map(taints);
    let joined = context
        .kubeadm
        .iter()
        .filter_map(|document| document.at("nodeRegistration.taints"));
    let tainted = registered.chain(joined.flat_map(|list| list.items()));
    let tolerated = context
        .pods
        .iter()
        .filter_map(|pod| pod.spec.get("tolerations"));
    let classes = context
        .of_kind("RuntimeClass")
        .filter_map(|class| class.at("scheduling.tolerations"));
    let all = tainted.chain(tolerated.chain(classes).flat_map(|list| list.items()));
    let mut findings = Vec::new();
    for entry in all.filter(|entry| key(entry) == Some("os")) {
        let Some(value) = entry.get("value") else {
            continue;
        };
        let Some(text) = value
            .text()
            .filter(|text| *text != "windows" && text.eq_ignore_ascii_case("windows"))
        else {
            continue;
        };
        findings.push(
            value
                .error(format!(
                    "the value of the taint `os` is `{text}` here, but `windows` on the nodes"
                ))
                .note("values are case-sensitive: pods that tolerate one are not scheduled on nodes with the other")
                .help("use `windows`")
                .replace("use `windows`", "windows"),
        );
    }
    findings
}

fn cloud(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for document in context.kubeadm_kind("JoinConfiguration") {
        let Some(node) = document.get("nodeRegistration") else {
            continue;
        };
        let windows = node
            .get("criSocket")
            .is_some_and(|s| s.text().is_some_and(|t| t.contains("pipe")));
        let args = node
            .get("kubeletExtraArgs")
            .map(|args| arguments(&args))
            .unwrap_or_default();
        let external = args
            .iter()
            .find(|(name, value)| *name == "cloud-provider" && value.text() == Some("external"));
        let Some((_, location)) = external.filter(|_| windows) else {
            continue;
        };
        let list = node
            .get("taints")
            .map(|list| list.items())
            .unwrap_or_default();
        if list
            .iter()
            .any(|taint| key(taint) == Some("node.cloudprovider.kubernetes.io/uninitialized"))
        {
            continue;
        }
        findings.push(
            location
                .warning("the cloud provider is external, but the Windows node has no taint that requests its initialization")
                .note("the provider skips nodes without the taint: they get no providerID")
                .help("add the taint `node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule` to `nodeRegistration.taints`"),
        );
    }
    findings
}
