//! Calico resources in clusters with Windows nodes.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-CAL-001", Error, Files, "L020", unsupported),
    rule!("CAS-CAL-002", Error, Files, "L021", affinity),
    rule!("CAS-CAL-003", Error, Files, "L022", vxlan),
    rule!("CAS-CAL-004", Warning, Together, "L023", blocks),
    rule!("CAS-CAL-005", Error, FilesFirst, "L024", operator),
];

/// Kind, field, values that Windows nodes do not support, and the supported value.
const UNSUPPORTED: &[(&str, &str, &[&str], &str)] = &[
    (
        "IPPool",
        "spec.ipipMode",
        &["Always", "CrossSubnet"],
        "Never",
    ),
    ("IPPool", "spec.vxlanMode", &["CrossSubnet"], "Always"),
    ("FelixConfiguration", "spec.bpfEnabled", &["true"], "false"),
    (
        "FelixConfiguration",
        "spec.wireguardEnabled",
        &["true"],
        "false",
    ),
    ("FelixConfiguration", "spec.ipv6Support", &["true"], "false"),
];

fn unsupported(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (kind, field, unsupported, supported) in UNSUPPORTED {
        for object in calico(context, kind) {
            let Some(value) = object.at(field) else {
                continue;
            };
            if value.text().is_some_and(|text| unsupported.contains(&text)) {
                findings.push(unsupported_value(
                    &value,
                    field.trim_start_matches("spec."),
                    supported,
                ));
            }
        }
    }
    for installation in calico(context, "Installation") {
        let Some(network) = installation.at("spec.calicoNetwork") else {
            continue;
        };
        let pools = network
            .get("ipPools")
            .map(|pools| pools.items())
            .unwrap_or_default();
        let encapsulation = pools.iter().filter_map(|pool| pool.get("encapsulation"));
        for value in encapsulation.filter(|value| !matches!(value.text(), Some("VXLAN" | "None"))) {
            findings.push(unsupported_value(&value, "encapsulation", "VXLAN"));
        }
        let vxlan = pools.iter().any(|pool| {
            pool.get("encapsulation")
                .is_some_and(|e| e.text() == Some("VXLAN"))
        });
        if let Some(bgp) = network
            .get("bgp")
            .filter(|bgp| vxlan && bgp.text() == Some("Enabled"))
        {
            findings.push(unsupported_value(&bgp, "bgp", "Disabled"));
        }
        if let Some(plane) = network
            .get("linuxDataplane")
            .filter(|plane| plane.text() == Some("BPF"))
        {
            findings.push(unsupported_value(&plane, "linuxDataplane", "Iptables"));
        }
    }
    findings
}

fn unsupported_value(value: &Value<'_>, field: &str, supported: &str) -> Diagnostic {
    let current = value.text().unwrap_or_default();
    value
        .error(format!("Calico for Windows does not support `{field}: {current}`"))
        .note("Windows nodes support IPv4 in VXLAN between all nodes, or BGP without an overlay; no IPIP, WireGuard or eBPF")
        .help(format!("set `{field}: {supported}`"))
        .replace(format!("set `{supported}`"), supported)
}

/// Calico resources of a kind, in clusters with Windows nodes.
fn calico<'c, 'a>(context: &'c Context<'a>, kind: &'c str) -> impl Iterator<Item = &'c Value<'a>> {
    context.of_kind(kind).filter(|object| {
        let version = object.get("apiVersion").and_then(|version| version.text());
        let is_calico = |version: &str| {
            version.contains("projectcalico.org") || version.starts_with("operator.tigera.io")
        };
        context.has_windows() && version.is_some_and(is_calico)
    })
}

fn affinity(context: &Context<'_>) -> Vec<Diagnostic> {
    let kinds = ["IPAMConfig", "IPAMConfiguration"].into_iter();
    let objects = kinds.flat_map(|kind| calico(context, kind));
    objects
        .filter_map(|object| {
            let value = object.at("spec.strictAffinity");
            if value.as_ref().and_then(Value::boolean) == Some(true) {
                return None;
            }
            let location = value.clone().or_else(|| object.get("spec")).or_else(|| object.get("kind"))?;
            let current = value.as_ref().and_then(Value::text).unwrap_or("not set");
            let finding = location
                .error(format!("`strictAffinity` is {current}, but Windows nodes need true"))
                .note("an address that a Linux node borrows from the block of a Windows node is unreachable")
                .help("set `strictAffinity: true`");
            Some(if value.is_some() { finding.replace("set to true", "true") } else { finding })
        })
        .collect()
}

fn vxlan(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for felix in calico(context, "FelixConfiguration") {
        for (field, supported) in [("vxlanVNI", "4096"), ("vxlanPort", "4789")] {
            let value = felix.get("spec").and_then(|spec| spec.get(field));
            if let Some(value) = value.filter(|value| value.text() != Some(supported)) {
                findings.push(vxlan_mismatch(&value, field, supported));
            }
        }
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
            let supported = match name {
                Some("VXLAN_VNI" | "FELIX_VXLANVNI") => "4096",
                Some("FELIX_VXLANPORT") => "4789",
                _ => continue,
            };
            let value = variable.get("value");
            if let Some(value) = value.filter(|value| value.text() != Some(supported)) {
                findings.push(vxlan_mismatch(&value, name.unwrap_or_default(), supported));
            }
        }
    }
    findings
}

fn vxlan_mismatch(value: &Value<'_>, field: &str, supported: &str) -> Diagnostic {
    let current = value.text().unwrap_or("empty");
    value
        .error(format!("`{field}` is {current}, but Windows nodes need {supported}"))
        .note("FelixConfiguration and the environment of the node must have the same VNI and port, and Windows supports only these")
        .help(format!("set {supported}, or remove it: this is Calico's default"))
        .replace(format!("set {supported}"), format!("\"{supported}\"").replace('"', if value.integer().is_some() && field.starts_with("vxlan") { "" } else { "\"" }))
}

fn blocks(context: &Context<'_>) -> Vec<Diagnostic> {
    let nodes = context.hosts().len();
    let pools = calico(context, "IPPool")
        .filter_map(|pool| Some((pool.at("spec.cidr")?, pool.at("spec.blockSize"))));
    let installed: Vec<_> = calico(context, "Installation")
        .filter_map(|object| object.at("spec.calicoNetwork.ipPools"))
        .flat_map(|pools| pools.items())
        .collect();
    let installed = installed
        .iter()
        .filter_map(|pool| Some((pool.get("cidr")?, pool.get("blockSize"))));
    let mut findings = Vec::new();
    for (cidr, size) in pools.chain(installed) {
        let Some(network) = cidr
            .text()
            .and_then(|text| text.parse::<ipnet::Ipv4Net>().ok())
        else {
            continue;
        };
        let prefix = size.as_ref().and_then(Value::integer).unwrap_or(26);
        let free = u32::try_from(prefix)
            .unwrap_or(26)
            .saturating_sub(u32::from(network.prefix_len()));
        let blocks = 1_usize.checked_shl(free).unwrap_or(usize::MAX);
        if blocks >= nodes {
            continue;
        }
        findings.push(
            cidr.warning(format!("the pool {network} provides /{prefix} blocks for {blocks} of {nodes} hosts"))
                .note("with strict affinity nodes cannot borrow addresses, and Windows reserves four addresses of each block")
                .help("use a larger pool, or smaller blocks"),
        );
    }
    findings
}

fn operator(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for installation in calico(context, "Installation") {
        let Some(spec) = installation.get("spec") else {
            continue;
        };
        let Some(network) = spec.get("calicoNetwork") else {
            continue;
        };
        let plane = network.get("windowsDataplane");
        let mut missing = |location: &Value<'_>, field: &str, help: &str| {
            findings.push(
                location
                    .error(format!(
                        "Calico does not start on Windows nodes without `{field}`"
                    ))
                    .help(help),
            );
        };
        match plane.filter(|plane| plane.text() == Some("HPC")) {
            None => missing(&network, "windowsDataplane", "add `windowsDataplane: HPC`"),
            Some(plane) => {
                if spec.get("serviceCIDRs").is_none() {
                    missing(&plane, "serviceCIDRs", "add `serviceCIDRs: [10.96.0.0/12]`");
                }
                let endpoint = context.of_kind("ConfigMap").any(|map| {
                    map.at("metadata.name")
                        .is_some_and(|name| name.text() == Some("kubernetes-services-endpoint"))
                });
                if !endpoint {
                    let help = "add `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT` in a ConfigMap `kubernetes-services-endpoint` in `tigera-operator`";
                    missing(&plane, "kubernetes-services-endpoint", help);
                }
            }
        }
    }
    findings
}
