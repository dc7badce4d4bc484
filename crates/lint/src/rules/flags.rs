//! Flags and feature gates that a version does not know.

use casement_catalog::{Gate, GateSetting, Known, Minor, Program, System, flag, gate, gates};
use casement_diag::{Diagnostic, Part};

use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::rules::kubelet::arguments;

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-KLT-006",
        Error,
        Either,
        "L039, K9, I19",
        "the kubelet does not know a flag",
        removed
    ),
    rule!(
        "CAS-KLT-008",
        Error,
        Either,
        "K9, A8",
        "a feature gate is not known",
        feature_gates
    ),
];

fn version(context: &Context<'_>) -> Option<Minor> {
    let (one, minor) = context.minor()?;
    let minor = u16::try_from(minor).ok()?;
    let minor = (one == 1).then(|| Minor::new(minor))?;
    (Minor::OLDEST..=Minor::NEWEST)
        .contains(&minor)
        .then_some(minor)
}

fn removed(context: &Context<'_>) -> Vec<Diagnostic> {
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
                let Some((what, help)) = unknown(name.as_str(), version, system) else {
                    continue;
                };
                let path = context
                    .host_path(index)
                    .field("kubeletArgs")
                    .field(name.as_str());
                findings.push(
                    Diagnostic::error(path, what)
                        .at(Part::Key)
                        .note(WHY)
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
            let Some((what, help)) = unknown(name, version, system) else {
                continue;
            };
            findings.push(value.error(what).at(Part::Key).note(WHY).help(help));
        }
    }
    findings
}

const WHY: &str =
    "the kubelet ends at once on a flag that it does not know, and the node never comes";

/// What is said of a flag that the kubelet of a release does not know.
fn unknown(name: &str, version: Minor, system: System) -> Option<(String, String)> {
    let Some(flag) = flag(Program::Kubelet, name) else {
        let names = casement_catalog::flags().iter().map(|flag| flag.name);
        let help = match casement_source::closest(name, names) {
            Some(better) => format!("did you mean `--{better}`?"),
            None => "`casement catalog flags` lists them".to_owned(),
        };
        return Some((format!("no kubelet has a flag `--{name}`"), help));
    };
    let what = match flag.known(version, system) {
        Known::Yes => return None,
        Known::NotYet(first) => {
            format!("the kubelet {version} has no `--{name}` yet, {first} is the first that has")
        }
        Known::NoLonger(first) => {
            format!("the kubelet {version} has no `--{name}`, it was removed in {first}")
        }
        Known::ElsewhereOnly(system) => format!(
            "`--{name}` is a flag of the kubelet for {} only",
            system.name()
        ),
    };
    let help = match flag.instead() {
        Some(instead) if instead.starts_with("leave it out") => instead.to_owned(),
        Some(instead) => format!("remove it; instead: {instead}"),
        None => "remove it".to_owned(),
    };
    Some((what, help))
}

fn feature_gates(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(version) = version(context) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if let Some(spec) = context.spec {
        for (name, value) in &spec.cluster.spec.kubernetes.feature_gates {
            if let Some((what, help)) = bad_gate(name.as_str(), *value, version) {
                let path = context
                    .spec_path("kubernetes.featureGates")
                    .field(name.as_str());
                findings.push(
                    Diagnostic::error(path, what)
                        .at(Part::Key)
                        .note(GATE_WHY)
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
            if let Some((what, help)) = bad_gate(name, on, version) {
                findings.push(value.error(what).at(Part::Key).note(GATE_WHY).help(help));
            }
        }
    }
    findings
}

const GATE_WHY: &str = "a program of Kubernetes ends at once on a gate that it does not know";

fn bad_gate(name: &str, value: bool, version: Minor) -> Option<(String, String)> {
    let Some(gate) = gate(name) else {
        let names = gates().iter().map(|gate: &Gate| gate.name);
        let help = match casement_source::closest(name, names) {
            Some(better) => format!("did you mean `{better}`?"),
            None => "`casement catalog gates` lists them".to_owned(),
        };
        return Some((format!("no version has a feature gate `{name}`"), help));
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
            format!(
                "Kubernetes {version} has no feature gate `{name}` yet, {first} is the first that has"
            ),
            format!("remove it, or take Kubernetes {first}"),
        )),
        GateSetting::NoLonger(first) => Some((
            format!("Kubernetes {version} has no feature gate `{name}`, it was removed in {first}"),
            "remove it: what it switched on is always on now, or gone".to_owned(),
        )),
    }
}
