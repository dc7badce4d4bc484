//! The names of nodes in several files.

use casement_diag::Diagnostic;

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::rules::kubelet::arguments;
use crate::said::{Said, agree};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-PRX-012",
        Error,
        Files,
        "L043",
        "one node has several names",
        one_name
    ),
    rule!(
        "CAS-HOST-010",
        Error,
        Files,
        "L042",
        "a node's name is none",
        bad_name
    ),
];

/// What one node is called, by everyone who says so: only where there is one
/// node to speak of.
fn names(context: &Context<'_>) -> Vec<Said> {
    let mut said = Vec::new();
    for document in &context.kubeadm {
        let Some(node) = document.get("nodeRegistration") else {
            continue;
        };
        said.extend(
            node.get("name")
                .and_then(|name| Said::by("kubeadm's node name", &name)),
        );
        let args = node
            .get("kubeletExtraArgs")
            .map(|args| arguments(&args))
            .unwrap_or_default();
        for (name, value) in args {
            if name == "hostname-override" {
                said.extend(Said::by("the kubelet's `hostname-override`", &value));
            }
        }
    }
    for proxy in &context.proxies {
        let name = proxy
            .get("hostnameOverride")
            .filter(|name| name.text().is_some_and(|n| !n.is_empty()));
        said.extend(name.and_then(|name| Said::by("kube-proxy's `hostnameOverride`", &name)));
    }
    said
}

fn one_name(context: &Context<'_>) -> Vec<Diagnostic> {
    let joins = context
        .kubeadm
        .iter()
        .filter(|document| document.get("nodeRegistration").is_some())
        .count();
    if joins > 1 || context.proxies.len() > 1 {
        return Vec::new();
    }
    let why =
        "kube-proxy takes the node's own pods for another node's, and the kubelet registers twice";
    agree(&names(context), "names of one node", why, |one, other| {
        one == other
    })
}

fn bad_name(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for said in names(context) {
        let label = |part: &str| part.parse::<casement_spec::HostName>().is_ok();
        if said.value.split('.').all(label) {
            continue;
        }
        let better = said.value.to_ascii_lowercase().replace('_', "-");
        let finding = Diagnostic::error(
            said.path.clone(),
            format!(
                "{} is `{}`, which is no name of a node",
                said.who, said.value
            ),
        )
        .within(said.file.as_str())
        .note("names of nodes are lower case: Windows writes its own in capitals");
        findings.push(if better.split('.').all(label) {
            finding
                .help(format!("write `{better}`"))
                .replace(format!("write `{better}`"), format!("\"{better}\""))
        } else {
            finding.help("take lower-case letters, digits and `-`")
        });
    }
    findings
}
