//! The operating system and build that pods select.

use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::pod::{OLD_OS_LABEL, OS_LABEL, Pod};
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-POD-001", Error, FilesFirst, "L060, I18", no_os),
    rule!("CAS-POD-002", Warning, Files, "L061", old_label),
    rule!("CAS-POD-003", Error, FilesFirst, "L062", no_network),
    rule!("CAS-POD-016", Error, Together, "L032, I28", build),
];

fn no_os(context: &Context<'_>) -> Vec<Diagnostic> {
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
        let Some(location) = pod
            .object
            .at("metadata.name")
            .or_else(|| pod.object.get("kind"))
        else {
            continue;
        };
        findings.push(
            location
                .finding(
                    severity,
                    format!("{} does not select an operating system", pod.title()),
                )
                .note("on a node with the wrong operating system its containers never start")
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
                .warning(format!("{} selects nodes by `{OLD_OS_LABEL}`, which is `{OS_LABEL}` since Kubernetes 1.14", pod.title()))
                .at(Part::Key)
                .note("a future version may remove the old label")
                .help(format!("use `{OS_LABEL}`"))
                .replace(format!("rename it to `{OS_LABEL}`"), OS_LABEL),
        );
    }
    findings
}

fn no_network(context: &Context<'_>) -> Vec<Diagnostic> {
    // casement installs these components on Windows nodes.
    if context.spec.is_some() || !context.pods.iter().any(Pod::is_windows) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for component in ["kube-proxy", "flannel", "calico-node"] {
        let named = |pod: &&Pod<'_>| {
            let name = pod.object.at("metadata.name").and_then(|name| name.text());
            pod.kind == "DaemonSet" && name.is_some_and(|name| name.contains(component))
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
            name.error(format!("{} is for Linux nodes only, and there is no equivalent for Windows nodes", linux.title()))
                .note("Windows nodes stay NotReady without a network, and cannot reach services without kube-proxy")
                .help(format!("add the Windows part of `{component}`, or let casement run it as a service")),
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
                .note("the label has three numbers, without the update level")
                .help("use the build of the hosts: Server 2019 is 10.0.17763, 2022 is 10.0.20348, 2025 is 10.0.26100"),
        );
    }
    findings
}
