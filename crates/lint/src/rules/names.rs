//! Node names in several files.

use casement_diag::Diagnostic;

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::rules::kubelet::arguments;
use crate::statement::{Statement, disagreements};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-PRX-012", Error, Files, "L043", one_name),
    rule!("CAS-HOST-010", Error, Files, "L042", invalid_name),
];

/// All statements of a node name. They are comparable only if the files describe
/// one node.
fn names(context: &Context<'_>) -> Vec<Statement> {
    let mut statements = Vec::new();
    for document in &context.kubeadm {
        let Some(node) = document.get("nodeRegistration") else {
            continue;
        };
        statements.extend(
            node.get("name")
                .and_then(|name| Statement::new("kubeadm's node name", &name)),
        );
        let args = node
            .get("kubeletExtraArgs")
            .map(|args| arguments(&args))
            .unwrap_or_default();
        for (name, value) in args {
            if name == "hostname-override" {
                statements.extend(Statement::new("the kubelet's `hostname-override`", &value));
            }
        }
    }
    for proxy in &context.proxies {
        let name = proxy
            .get("hostnameOverride")
            .filter(|name| name.text().is_some_and(|n| !n.is_empty()));
        statements
            .extend(name.and_then(|name| Statement::new("kube-proxy's `hostnameOverride`", &name)));
    }
    statements
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
    let why = "kube-proxy treats local pods as remote, and the kubelet registers twice";
    disagreements(&names(context), "names of one node", why, |one, other| {
        one == other
    })
}

fn invalid_name(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for statement in names(context) {
        let label = |part: &str| part.parse::<casement_spec::HostName>().is_ok();
        if statement.value.split('.').all(label) {
            continue;
        }
        let better = statement.value.to_ascii_lowercase().replace('_', "-");
        let finding = Diagnostic::error(
            statement.path.clone(),
            format!(
                "{} is `{}`, which is not a valid node name",
                statement.subject, statement.value
            ),
        )
        .in_file(statement.file.as_str())
        .note("node names are lowercase, but Windows reports its name in uppercase");
        findings.push(if better.split('.').all(label) {
            finding
                .help(format!("use `{better}`"))
                .replace(format!("use `{better}`"), format!("\"{better}\""))
        } else {
            finding.help("use lowercase letters, digits and `-`")
        });
    }
    findings
}
