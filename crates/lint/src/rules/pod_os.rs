//! On which nodes pods land.

use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::pod::{OLD_OS_LABEL, OS_LABEL, Pod};
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-POD-001",
        Error,
        FilesFirst,
        "L060, I18",
        "pods may land on the wrong operating system",
        undecided
    ),
    rule!(
        "CAS-POD-002",
        Warning,
        Files,
        "L061",
        "an old label selects the operating system",
        old_label
    ),
    rule!(
        "CAS-POD-003",
        Error,
        FilesFirst,
        "L062",
        "nothing makes the network on Windows nodes",
        no_network
    ),
    rule!(
        "CAS-POD-016",
        Error,
        Together,
        "L032, I28",
        "pods are meant for a Windows build that no node has",
        build
    ),
];

fn undecided(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context
        .pods
        .iter()
        .filter(|pod| pod.os.is_none() && context.has_windows())
    {
        if context.windows_is_tainted() && !pod.tolerates("os", "windows") {
            continue;
        }
        let severity = match pod.kind {
            "DaemonSet" => Severity::Error,
            _ => Severity::Warning,
        };
        let Some(place) = pod
            .object
            .at("metadata.name")
            .or_else(|| pod.object.get("kind"))
        else {
            continue;
        };
        findings.push(
            place
                .finding(
                    severity,
                    format!(
                        "{} does not say which operating system it is for",
                        pod.title()
                    ),
                )
                .note("on a node of the other one its containers never start")
                .help(format!(
                    "add `nodeSelector: {{{OS_LABEL}: linux}}` to the pod's `spec`, or `windows`"
                )),
        );
    }
    findings
}

fn old_label(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in &context.pods {
        let Some(selector) = pod.spec.get("nodeSelector") else {
            continue;
        };
        let Some(label) = selector
            .get(OLD_OS_LABEL)
            .filter(|_| selector.get(OS_LABEL).is_none())
        else {
            continue;
        };
        findings.push(
            label
                .warning(format!("{} is selected by `{OLD_OS_LABEL}`, which is `{OS_LABEL}` since Kubernetes 1.14", pod.title()))
                .at(Part::Key)
                .note("the old label may go with any version")
                .help(format!("write `{OS_LABEL}`"))
                .replace(format!("rename it to `{OS_LABEL}`"), OS_LABEL),
        );
    }
    findings
}

fn no_network(context: &Context<'_>) -> Vec<Diagnostic> {
    // casement puts both on Windows nodes itself.
    if context.spec.is_some() || !context.pods.iter().any(Pod::is_windows) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for part in ["kube-proxy", "flannel", "calico-node"] {
        let named = |pod: &&Pod<'_>| {
            let name = pod.object.at("metadata.name").and_then(|name| name.text());
            pod.kind == "DaemonSet" && name.is_some_and(|name| name.contains(part))
        };
        let all: Vec<_> = context.pods.iter().filter(named).collect();
        let Some(linux) = all
            .first()
            .filter(|_| !all.iter().any(|pod| pod.os != Some("linux")))
        else {
            continue;
        };
        let Some(name) = linux.object.at("metadata.name") else {
            continue;
        };
        findings.push(
            name.error(format!("{} is for Linux nodes only, and nothing does its work on Windows nodes", linux.title()))
                .note("Windows nodes stay NotReady without a network, and reach no service without kube-proxy")
                .help(format!("add the part of `{part}` for Windows, or let casement run it as a service")),
        );
    }
    findings
}

fn build(context: &Context<'_>) -> Vec<Diagnostic> {
    let builds = context.windows_builds();
    if builds.is_empty() {
        return Vec::new();
    }
    let classes = context
        .of_kind("RuntimeClass")
        .filter_map(|class| class.at("scheduling.nodeSelector"));
    let pods = context
        .pods
        .iter()
        .filter_map(|pod| pod.spec.get("nodeSelector"));
    let labels: Vec<Value<'_>> = classes
        .chain(pods)
        .filter_map(|selector| selector.get(crate::pod::BUILD_LABEL))
        .collect();
    let mut findings = Vec::new();
    for label in labels {
        let text = label.text().unwrap_or_default();
        if builds
            .iter()
            .any(|(_, build)| text == format!("10.0.{build}"))
        {
            continue;
        }
        let known: Vec<_> = builds
            .iter()
            .map(|(host, build)| format!("{host} is 10.0.{build}"))
            .collect();
        findings.push(
            label
                .error(format!(
                    "no Windows host has the build `{text}`: {}",
                    known.join(", ")
                ))
                .note("the label has three numbers, and no update level")
                .help("Server 2019 is 10.0.17763, 2022 is 10.0.20348, 2025 is 10.0.26100"),
        );
    }
    findings
}
