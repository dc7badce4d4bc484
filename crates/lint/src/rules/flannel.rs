//! flannel's `net-conf.json` in clusters with Windows nodes.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-NET-020", Error, Either, "L010, K1", vni),
    rule!("CAS-NET-021", Error, Either, "L011, K1", port),
    rule!("CAS-NET-022", Error, Files, "L012", options),
    rule!("CAS-NET-023", Error, Files, "L013", backend_type),
    rule!("CAS-NET-025", Error, Either, "L019", ipv6),
];

const VNI: &str = "4096";
const PORT: &str = "4789";

/// All documents with their backends, in clusters with Windows nodes.
fn backends<'a>(context: &Context<'a>) -> Vec<(Value<'a>, Option<Value<'a>>)> {
    let confs = context.net_confs.iter().filter(|_| context.has_windows());
    confs
        .map(|conf| (conf.clone(), conf.get_any_case("Backend")))
        .collect()
}

fn vxlan<'a>(context: &Context<'a>) -> Vec<Value<'a>> {
    let all = backends(context)
        .into_iter()
        .filter_map(|(_, backend)| backend);
    all.filter(|backend| {
        let kind = backend.get_any_case("Type");
        kind.and_then(|kind| kind.text())
            .is_some_and(|kind| kind.eq_ignore_ascii_case("vxlan"))
    })
    .collect()
}

/// A finding for a missing field, with a fix that adds it after `Type`.
fn missing_field(backend: &Value<'_>, name: &str, value: &str, linux: &str) -> Option<Diagnostic> {
    let kind = backend.get_any_case("Type")?;
    let written = kind.text()?;
    let finding = kind.error(format!(
        "`{name}` is not set: Linux nodes use {linux}, Windows nodes {value}"
    ));
    Some(
        finding
            .here(format!("no `{name}` here"))
            .note("nodes with different values cannot reach each other")
            .help(format!("add `\"{name}\": {value}`"))
            .replace(
                format!("add `\"{name}\": {value}`"),
                format!("\"{written}\", \"{name}\": {value}"),
            ),
    )
}

fn vni(context: &Context<'_>) -> Vec<Diagnostic> {
    let check =
        |backend: Value<'_>| {
            let Some(value) = backend.get_any_case("VNI") else {
                return missing_field(&backend, "VNI", VNI, "1");
            };
            if value
                .integer()
                .is_some_and(|vni| (4096..=65535).contains(&vni))
            {
                return None;
            }
            let current = value.text().unwrap_or("empty");
            Some(
            value
                .error(format!("the VNI is {current}, but Windows supports only 4096 to 65535"))
                .note("all nodes of a cluster need the same VNI, including Linux nodes")
                .help(format!(
                    "set `\"VNI\": {VNI}`, then restart flannel on all Linux nodes at the same time"
                ))
                .replace(format!("set {VNI}"), VNI),
        )
        };
    let files = vxlan(context).into_iter().filter_map(check);
    files.chain(spec_vni(context)).collect()
}

fn spec_vni(context: &Context<'_>) -> Option<Diagnostic> {
    let vxlan = context.spec?.cluster.spec.network.backend.vxlan()?;
    let vni = vxlan.vni.get();
    if !context.has_windows() || (4096..=65535).contains(&vni) {
        return None;
    }
    let path = context.spec_path("network.vni");
    let message = format!("the VNI is {vni}, but Windows supports only 4096 to 65535");
    Some(
        Diagnostic::error(path, message)
            .note("HNS supports no smaller VNI, and flannel passes it in 16 bits")
            .help(format!("set `vni: {VNI}`, or remove it"))
            .replace(format!("set {VNI}"), VNI),
    )
}

fn port(context: &Context<'_>) -> Vec<Diagnostic> {
    let check = |backend: Value<'_>| {
        let Some(value) = backend.get_any_case("Port") else {
            return missing_field(&backend, "Port", PORT, "8472");
        };
        if value.text() == Some(PORT) {
            return None;
        }
        let current = value.text().unwrap_or("empty");
        Some(
            value
                .error(format!(
                    "the VXLAN port is {current}, but Windows supports only {PORT}"
                ))
                .note("flannel on Windows exits with an error on any other port")
                .help(format!(
                    "set `\"Port\": {PORT}`, then restart flannel on all Linux nodes at the same time"
                ))
                .replace(format!("set {PORT}"), PORT),
        )
    };
    let files = vxlan(context).into_iter().filter_map(check);
    files.chain(spec_port(context)).collect()
}

fn spec_port(context: &Context<'_>) -> Option<Diagnostic> {
    let vxlan = context.spec?.cluster.spec.network.backend.vxlan()?;
    if !context.has_windows() || vxlan.port.to_string() == PORT {
        return None;
    }
    let path = context.spec_path("network.port");
    let message = format!(
        "the VXLAN port is {}, but Windows supports only {PORT}",
        vxlan.port
    );
    Some(
        Diagnostic::error(path, message)
            .note("Server 2019 cannot change it, and flannel on Windows exits with an error on any other port")
            .help(format!("set `port: {PORT}`, or remove it"))
            .replace(format!("set {PORT}"), PORT),
    )
}

fn options(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for backend in vxlan(context) {
        for name in ["DirectRouting", "GBP"] {
            let value = backend.get_any_case(name);
            let Some(value) = value.filter(|value| value.boolean() == Some(true)) else {
                continue;
            };
            findings.push(
                value
                    .error(format!(
                        "`{name}` is true, but flannel does not support it on Windows"
                    ))
                    .note("flannel on Windows exits with an error if it is true")
                    .help(format!("set `\"{name}\": false`"))
                    .replace("set to false", "false"),
            );
        }
    }
    findings
}

fn backend_type(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (conf, backend) in backends(context) {
        let kind = backend
            .as_ref()
            .and_then(|backend| backend.get_any_case("Type"));
        let location = kind
            .clone()
            .or(backend)
            .or_else(|| conf.get_any_case("Network"));
        let name = kind.as_ref().and_then(Value::text);
        if name
            .is_some_and(|kind| matches!(kind.to_ascii_lowercase().as_str(), "vxlan" | "host-gw"))
        {
            continue;
        }
        let Some(location) = location else { continue };
        let message = match name {
            Some(kind) => format!("flannel does not support the backend `{kind}` on Windows"),
            None => "no backend is set, so flannel uses `udp`, which Windows does not support"
                .to_owned(),
        };
        findings.push(
            location
                .error(message)
                .help("use `vxlan` or `host-gw`: `\"Backend\": {\"Type\": \"vxlan\", \"VNI\": 4096, \"Port\": 4789}`"),
        );
    }
    findings
}

fn ipv6(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings: Vec<_> = spec_ipv6(context).into_iter().collect();
    for conf in context.net_confs.iter().filter(|_| context.has_windows()) {
        let backend = conf
            .get_any_case("Backend")
            .and_then(|b| b.get_any_case("Type"));
        let Some(backend) = backend.filter(|kind| kind.text() == Some("vxlan")) else {
            continue;
        };
        let Some(value) = conf
            .get_any_case("EnableIPv6")
            .filter(|v| v.boolean() == Some(true))
        else {
            continue;
        };
        findings.push(
            value
                .error("`EnableIPv6` is true, but overlays on Windows are IPv4 only")
                .label_in(backend.file(), backend.path().clone(), "the overlay")
                .note(
                    "Linux nodes with IPv6 ignore nodes without it, so Windows nodes are unreachable",
                )
                .help("set `\"EnableIPv6\": false`")
                .replace("set to false", "false"),
        );
    }
    findings
}

fn spec_ipv6(context: &Context<'_>) -> Option<Diagnostic> {
    let spec = &context.spec?.cluster.spec;
    let v6 = spec.kubernetes.pod_cidr.v6()?;
    if !context.has_windows() || !context.is_overlay() {
        return None;
    }
    let mode = spec.network.mode();
    let message =
        format!("the pod network includes IPv6 ({v6}), but `{mode}` is IPv4 only on Windows");
    let finding = Diagnostic::error(context.spec_path("kubernetes.podCidr"), message);
    let v4 = spec.kubernetes.pod_cidr.v4();
    Some(
        context
            .spec_label(finding, "network.mode", "the overlay")
            .note("Linux nodes with IPv6 ignore nodes without it, so Windows nodes are unreachable")
            .help(format!("set `podCidr: {v4}`")),
    )
}
