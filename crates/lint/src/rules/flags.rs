//! Flags and feature gates that a Kubernetes version does not support.

use casement_catalog::{
    FeatureGate, GateSetting, Known, Minor, Program, System, feature_gate, feature_gates, flag,
};
use casement_diag::{Diagnostic, Part};

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::rules::kubelet::arguments;

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-KLT-006", Error, Either, "L039, K9, I19", kubelet_flags),
    rule!("CAS-KLT-008", Error, Either, "K9, A8", gate_settings),
];

fn version(context: &Context<'_>) -> Option<Minor> {
    let (one, minor) = context.minor()?;
    let minor = u16::try_from(minor).ok()?;
    let minor = (one == 1).then(|| Minor::new(minor))?;
    (Minor::OLDEST..=Minor::NEWEST)
        .contains(&minor)
        .then_some(minor)
}

fn kubelet_flags(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(version) = version(context) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if let Some(spec) = context.spec {
        for (index, host) in spec.cluster.spec.hosts.iter().enumerate() {
            let system = if host.os.is_windows() {
                System::Windows
            } else {
                System::Linux
            };
            for name in host.kubelet_args.keys() {
                let Some((message, help)) = unsupported_flag(name.as_str(), version, system) else {
                    continue;
                };
                let path = context
                    .host_path(index)
                    .field("kubeletArgs")
                    .field(name.as_str());
                findings.push(
                    Diagnostic::error(path, message)
                        .at(Part::Key)
                        .note(UNKNOWN_FLAG)
                        .help(help),
                );
            }
        }
    }
    let documents = context
        .kubeadm
        .iter()
        .filter_map(|document| document.get("nodeRegistration"));
    for node in documents {
        let pipe = node
            .get("criSocket")
            .is_some_and(|socket| socket.text().is_some_and(|text| text.contains("pipe")));
        let system = if pipe { System::Windows } else { System::Linux };
        let args = node
            .get("kubeletExtraArgs")
            .map(|args| arguments(&args))
            .unwrap_or_default();
        for (name, value) in args {
            let Some((message, help)) = unsupported_flag(name, version, system) else {
                continue;
            };
            findings.push(
                value
                    .error(message)
                    .at(Part::Key)
                    .note(UNKNOWN_FLAG)
                    .help(help),
            );
        }
    }
    findings
}

const UNKNOWN_FLAG: &str =
    "the kubelet exits immediately on an unknown flag, and the node never registers";

/// Message and help for a flag that the kubelet does not support.
fn unsupported_flag(name: &str, version: Minor, system: System) -> Option<(String, String)> {
    let Some(flag) = flag(Program::Kubelet, name) else {
        let names = casement_catalog::flags().iter().map(|flag| flag.name);
        let help = match casement_source::closest(name, names) {
            Some(better) => format!("did you mean `--{better}`?"),
            None => "`casement catalog flags` lists the supported flags".to_owned(),
        };
        return Some((
            format!("unknown flag `--{name}`: no kubelet version has it"),
            help,
        ));
    };
    let message = match flag.known(version, system) {
        Known::Yes => return None,
        Known::NotYet(first) => {
            format!("kubelet {version} has no flag `--{name}`; it was added in {first}")
        }
        Known::NoLonger(first) => {
            format!("kubelet {version} has no flag `--{name}`; it was removed in {first}")
        }
        Known::OnlyOn(system) => {
            format!("the kubelet supports `--{name}` only on {}", system.name())
        }
    };
    // The catalog's text is either a complete instruction or only the replacement.
    let complete = ["leave it out", "remove it"];
    let help = match flag.instead() {
        Some(instead) if complete.iter().any(|start| instead.starts_with(start)) => {
            instead.to_owned()
        }
        Some(instead) => format!("remove it; instead: {instead}"),
        None => "remove it".to_owned(),
    };
    Some((message, help))
}

fn gate_settings(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(version) = version(context) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if let Some(spec) = context.spec {
        for (name, value) in &spec.cluster.spec.kubernetes.feature_gates {
            if let Some((message, help)) = invalid_gate(name.as_str(), *value, version) {
                let path = context
                    .spec_path("kubernetes.featureGates")
                    .field(name.as_str());
                findings.push(
                    Diagnostic::error(path, message)
                        .at(Part::Key)
                        .note(UNKNOWN_GATE)
                        .help(help),
                );
            }
        }
    }
    for document in context.kubelets.iter().chain(&context.proxies) {
        let gates = document
            .get("featureGates")
            .map(|gates| gates.entries())
            .unwrap_or_default();
        for (name, value) in gates {
            let Some(on) = value.boolean() else { continue };
            if let Some((message, help)) = invalid_gate(name, on, version) {
                findings.push(
                    value
                        .error(message)
                        .at(Part::Key)
                        .note(UNKNOWN_GATE)
                        .help(help),
                );
            }
        }
    }
    findings
}

const UNKNOWN_GATE: &str = "Kubernetes programs exit immediately on an unknown gate";

fn invalid_gate(name: &str, value: bool, version: Minor) -> Option<(String, String)> {
    let Some(gate) = feature_gate(name) else {
        let names = feature_gates().iter().map(|gate: &FeatureGate| gate.name);
        let help = match casement_source::closest(name, names) {
            Some(better) => format!("did you mean `{better}`?"),
            None => "`casement catalog gates` lists the supported gates".to_owned(),
        };
        return Some((
            format!("unknown feature gate `{name}`: no Kubernetes version has it"),
            help,
        ));
    };
    match gate.set(version, value) {
        GateSetting::Changes | GateSetting::Redundant => None,
        GateSetting::Locked => Some((
            format!(
                "the feature gate `{name}` is locked to {} in {version}",
                !value
            ),
            "remove it".to_owned(),
        )),
        GateSetting::NotYet(first) => Some((
            format!("Kubernetes {version} has no feature gate `{name}`; it was added in {first}"),
            format!("remove it, or use Kubernetes {first}"),
        )),
        GateSetting::NoLonger(first) => Some((
            format!("Kubernetes {version} has no feature gate `{name}`; it was removed in {first}"),
            "remove it; the feature is now always enabled, or removed".to_owned(),
        )),
    }
}
