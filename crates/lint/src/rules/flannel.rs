//! flannel's `net-conf.json`, where a Windows node has to live with it.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-NET-020",
        Error,
        Either,
        "L010, K1",
        "the VNI is one that Windows does not take",
        vni
    ),
    rule!(
        "CAS-NET-021",
        Error,
        Either,
        "L011, K1",
        "the VXLAN port is one that Windows does not speak",
        port
    ),
    rule!(
        "CAS-NET-022",
        Error,
        Files,
        "L012",
        "an option of flannel does not exist on Windows",
        options
    ),
    rule!(
        "CAS-NET-023",
        Error,
        Files,
        "L013",
        "a flannel backend does not exist on Windows",
        backend_type
    ),
    rule!(
        "CAS-NET-025",
        Error,
        Either,
        "L019",
        "an overlay with IPv6",
        ipv6
    ),
];

const VNI: &str = "4096";
const PORT: &str = "4789";

/// The backends of documents that are for Windows nodes too.
fn backends<'a>(context: &Context<'a>) -> Vec<(Value<'a>, Option<Value<'a>>)> {
    let confs = context.net_confs.iter().filter(|_| context.has_windows());
    confs
        .map(|conf| (conf.clone(), conf.get_any_case("Backend")))
        .collect()
}

/// The backends that are VXLAN.
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

/// A field that is left out, and the way to add it behind `Type`.
fn left_out(backend: &Value<'_>, name: &str, value: &str, linux: &str) -> Option<Diagnostic> {
    let kind = backend.get_any_case("Type")?;
    let written = kind.text()?;
    let finding = kind.error(format!(
        "`{name}` is left out: Linux nodes take {linux}, Windows nodes {value}"
    ));
    Some(
        finding
            .here(format!("no `{name}` beside it"))
            .note("nodes with different ones do not hear each other")
            .help(format!("add `\"{name}\": {value}`"))
            .replace(
                format!("add `\"{name}\": {value}`"),
                format!("\"{written}\", \"{name}\": {value}"),
            ),
    )
}

fn vni(context: &Context<'_>) -> Vec<Diagnostic> {
    let check = |backend: Value<'_>| {
        let Some(value) = backend.get_any_case("VNI") else {
            return left_out(&backend, "VNI", VNI, "1");
        };
        if value
            .integer()
            .is_some_and(|vni| (4096..=65535).contains(&vni))
        {
            return None;
        }
        let said = value.text().unwrap_or("nothing");
        Some(
            value
                .error(format!("the VNI is {said}, Windows takes 4096 to 65535"))
                .note("all nodes of a cluster need the same one, Linux nodes included")
                .help(format!(
                    "write `\"VNI\": {VNI}`, then restart flannel on all Linux nodes at once"
                ))
                .replace(format!("write {VNI}"), VNI),
        )
    };
    let files = vxlan(context).into_iter().filter_map(check);
    files.chain(spec_vni(context)).collect()
}

/// The same in the cluster file.
fn spec_vni(context: &Context<'_>) -> Option<Diagnostic> {
    let vxlan = context.spec?.cluster.spec.network.backend.vxlan()?;
    let vni = vxlan.vni.get();
    if !context.has_windows() || (4096..=65535).contains(&vni) {
        return None;
    }
    let path = context.spec_path("network.vni");
    let message = format!("the VNI is {vni}, Windows takes 4096 to 65535");
    Some(
        Diagnostic::error(path, message)
            .note("HNS has no smaller one, and flannel passes it on in 16 bits")
            .help(format!("write `vni: {VNI}`, or leave it out"))
            .replace(format!("write {VNI}"), VNI),
    )
}

fn port(context: &Context<'_>) -> Vec<Diagnostic> {
    let check = |backend: Value<'_>| {
        let Some(value) = backend.get_any_case("Port") else {
            return left_out(&backend, "Port", PORT, "8472");
        };
        if value.text() == Some(PORT) {
            return None;
        }
        let said = value.text().unwrap_or("nothing");
        Some(
            value
                .error(format!(
                    "the VXLAN port is {said}, Windows speaks {PORT} only"
                ))
                .note("flannel on Windows ends with an error on any other port")
                .help(format!(
                    "write `\"Port\": {PORT}`, then restart flannel on all Linux nodes at once"
                ))
                .replace(format!("write {PORT}"), PORT),
        )
    };
    let files = vxlan(context).into_iter().filter_map(check);
    files.chain(spec_port(context)).collect()
}

/// The same in the cluster file.
fn spec_port(context: &Context<'_>) -> Option<Diagnostic> {
    let vxlan = context.spec?.cluster.spec.network.backend.vxlan()?;
    if !context.has_windows() || vxlan.port.to_string() == PORT {
        return None;
    }
    let path = context.spec_path("network.port");
    let message = format!(
        "the VXLAN port is {}, Windows speaks {PORT} only",
        vxlan.port
    );
    Some(
        Diagnostic::error(path, message)
            .note("Server 2019 cannot move it, and flannel on Windows ends with an error on any other")
            .help(format!("write `port: {PORT}`, or leave it out"))
            .replace(format!("write {PORT}"), PORT),
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
                        "`{name}` is true, and flannel does not have it on Windows"
                    ))
                    .note("flannel on Windows ends with an error when it is true")
                    .help(format!("write `\"{name}\": false`"))
                    .replace("write false", "false"),
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
        let place = kind
            .clone()
            .or(backend)
            .or_else(|| conf.get_any_case("Network"));
        let said = kind.as_ref().and_then(Value::text);
        if said
            .is_some_and(|kind| matches!(kind.to_ascii_lowercase().as_str(), "vxlan" | "host-gw"))
        {
            continue;
        }
        let Some(place) = place else { continue };
        let message = match said {
            Some(kind) => format!("flannel has no backend `{kind}` on Windows"),
            None => "no backend is named, so flannel takes `udp`, which Windows does not have"
                .to_owned(),
        };
        findings.push(
            place
                .error(message)
                .help("Windows has `vxlan` and `host-gw`: `\"Backend\": {\"Type\": \"vxlan\", \"VNI\": 4096, \"Port\": 4789}`"),
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
                .error("`EnableIPv6` is true, and the overlay of Windows is IPv4 only")
                .label_in(backend.file(), backend.path().clone(), "the overlay")
                .note(
                    "Linux nodes with IPv6 drop every node that has none, so Windows nodes vanish",
                )
                .help("write `\"EnableIPv6\": false`")
                .replace("write false", "false"),
        );
    }
    findings
}

/// The same in the cluster file.
fn spec_ipv6(context: &Context<'_>) -> Option<Diagnostic> {
    let spec = &context.spec?.cluster.spec;
    let v6 = spec.kubernetes.pod_cidr.v6()?;
    if !context.has_windows() || !context.is_overlay() {
        return None;
    }
    let mode = spec.network.mode();
    let message = format!("pods have the IPv6 network {v6}, and `{mode}` is IPv4 only on Windows");
    let finding = Diagnostic::error(context.spec_path("kubernetes.podCidr"), message);
    let v4 = spec.kubernetes.pod_cidr.v4();
    Some(
        context
            .spec_label(finding, "network.mode", "the overlay")
            .note("Linux nodes with IPv6 drop every node that has none, so Windows nodes vanish")
            .help(format!("write `podCidr: {v4}`")),
    )
}
