//! What a cluster file says about hosts and the way to them.

use std::net::IpAddr;

use casement_diag::{Diagnostic, Severity};
use casement_spec::{WinRmAuth, WinRmTransport};
use ipnet::IpNet;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-HOST-011",
        Note,
        Spec,
        "L049",
        "an adapter's name may differ between hosts",
        adapter
    ),
    rule!(
        "CAS-ACC-010",
        Note,
        Spec,
        "L051",
        "the list of what goes without the proxy is not whole",
        proxy
    ),
    rule!(
        "CAS-ACC-011",
        Error,
        Spec,
        "L081",
        "WinRM refuses this login",
        winrm
    ),
];

/// What Windows calls the first adapter, and does not always.
const USUAL: [&str; 3] = ["Ethernet", "Ethernet0", "Ethernet 2"];

fn adapter(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mut places = Vec::new();
    let name = spec.cluster.spec.network.interface.as_ref();
    places.extend(name.map(|name| (context.spec_path("network.interface"), name)));
    let hosts = spec
        .cluster
        .spec
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| host.os.is_windows());
    places.extend(hosts.filter_map(|(index, host)| {
        Some((
            context.host_path(index).field("interface"),
            host.interface.as_ref()?,
        ))
    }));
    let usual = places
        .into_iter()
        .filter(|(_, name)| USUAL.contains(&name.as_str()));
    usual
        .map(|(path, name)| {
            let message = format!("`{name}` is what Windows calls an adapter today: a new driver or a clone changes it");
            Diagnostic::new(Severity::Note, path, message)
                .note("without it, casement takes the adapter that has the host's address")
                .help("leave `interface` out, unless a host has two adapters in one network")
        })
        .collect()
}

fn proxy(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let spec = &spec.cluster.spec;
    let proxy = &spec.proxy;
    // Without a list of its own casement writes one that has everything.
    if proxy.no.is_empty() || (proxy.http.is_none() && proxy.https.is_none()) {
        return Vec::new();
    }
    let listed: Vec<&str> = proxy.no.iter().map(|entry| entry.as_str()).collect();
    let networks: Vec<IpNet> = listed
        .iter()
        .filter_map(|entry| entry.parse().ok())
        .collect();
    let mut lacking = Vec::new();
    for net in spec
        .kubernetes
        .pod_cidr
        .iter()
        .chain(spec.kubernetes.service_cidr.iter())
    {
        if !networks.iter().any(|listed| listed.contains(&net)) {
            lacking.push(net.to_string());
        }
    }
    let domain = spec.kubernetes.domain();
    for name in [".svc".to_owned(), format!(".{}", domain.as_str())] {
        if !listed.contains(&name.as_str()) {
            lacking.push(name);
        }
    }
    let direct = |address: IpAddr| {
        networks.iter().any(|net| net.contains(&address))
            || listed.contains(&address.to_string().as_str())
    };
    let mut hosts = spec
        .hosts
        .iter()
        .filter(|host| !direct(IpAddr::V4(host.address)));
    if let Some(host) = hosts.next() {
        let more = hosts.count();
        let more = if more > 0 {
            format!(" and {more} more hosts")
        } else {
            String::new()
        };
        lacking.push(format!("{} ({}){more}", host.address, host.name));
    }
    if lacking.is_empty() {
        return Vec::new();
    }
    let message = format!("`proxy.no` lacks {}", lacking.join(", "));
    vec![
        Diagnostic::new(Severity::Note, context.spec_path("proxy.no"), message)
            .note("casement adds them on its hosts; whatever else reads this list asks the proxy for the API server and for services")
            .help("add them, or leave `no` out: then casement writes the list"),
    ]
}

fn winrm(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let bad = |transport: WinRmTransport, auth: WinRmAuth| {
        transport == WinRmTransport::Http && auth == WinRmAuth::Basic
    };
    let mut paths = Vec::new();
    let all = spec.cluster.spec.access.winrm.as_ref();
    if all.is_some_and(|all| bad(all.transport, all.auth)) {
        paths.push(context.spec_path("access.winrm"));
    }
    for (index, host) in spec.cluster.spec.hosts.iter().enumerate() {
        let Some(own) = &host.access.winrm else {
            continue;
        };
        let said = own.transport.is_some() || own.auth.is_some();
        let way = own.over(all);
        if said && bad(way.transport, way.auth) {
            paths.push(context.host_path(index).field("access").field("winrm"));
        }
    }
    paths
        .into_iter()
        .map(|path| {
            Diagnostic::error(path.field("auth"), "`auth: basic` over `transport: http` sends the password in clear, and WinRM answers 401")
                .label(path.field("transport"), "not encrypted")
                .note("Windows refuses basic login on a connection that is not encrypted")
                .help("write `transport: https`, or `auth: ntlm`")
        })
        .collect()
}
