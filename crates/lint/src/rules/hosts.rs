//! Hosts in the cluster file, and how casement connects to them.

use std::net::IpAddr;

use casement_diag::{Diagnostic, Severity};
use casement_spec::{WinRmAuth, WinRmTransport};
use ipnet::IpNet;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-HOST-011", Note, Spec, "L049", adapter),
    rule!("CAS-ACC-010", Note, Spec, "L051", proxy),
    rule!("CAS-ACC-011", Error, Spec, "L081", winrm),
];

/// Default names of the first adapter on Windows.
const DEFAULT_NAMES: [&str; 3] = ["Ethernet", "Ethernet0", "Ethernet 2"];

fn adapter(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    let name = spec.cluster.spec.network.interface.as_ref();
    fields.extend(name.map(|name| (context.spec_path("network.interface"), name)));
    let hosts = spec
        .cluster
        .spec
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| host.os.is_windows());
    fields.extend(hosts.filter_map(|(index, host)| {
        Some((
            context.host_path(index).field("interface"),
            host.interface.as_ref()?,
        ))
    }));
    let defaults = fields
        .into_iter()
        .filter(|(_, name)| DEFAULT_NAMES.contains(&name.as_str()));
    defaults
        .map(|(path, name)| {
            let message = format!(
                "`{name}` is a default adapter name, which changes with a new driver or a clone"
            );
            Diagnostic::new(Severity::Note, path, message)
                .note("by default casement uses the adapter that has the address of the host")
                .help("remove `interface`, unless a host has two adapters in one network")
        })
        .collect()
}

fn proxy(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let spec = &spec.cluster.spec;
    let proxy = &spec.proxy;
    // Without a list in the file, casement writes a complete one.
    if proxy.no.is_empty() || (proxy.http.is_none() && proxy.https.is_none()) {
        return Vec::new();
    }
    let listed: Vec<&str> = proxy.no.iter().map(|entry| entry.as_str()).collect();
    let networks: Vec<IpNet> = listed
        .iter()
        .filter_map(|entry| entry.parse().ok())
        .collect();
    let mut missing = Vec::new();
    for net in spec
        .kubernetes
        .pod_cidr
        .iter()
        .chain(spec.kubernetes.service_cidr.iter())
    {
        if !networks.iter().any(|listed| listed.contains(&net)) {
            missing.push(net.to_string());
        }
    }
    let domain = spec.kubernetes.domain();
    for name in [".svc".to_owned(), format!(".{}", domain.as_str())] {
        if !listed.contains(&name.as_str()) {
            missing.push(name);
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
        let more = match hosts.count() {
            0 => String::new(),
            1 => " and 1 more host".to_owned(),
            more => format!(" and {more} more hosts"),
        };
        missing.push(format!("{} ({}){more}", host.address, host.name));
    }
    if missing.is_empty() {
        return Vec::new();
    }
    let message = format!("`proxy.no` does not contain {}", missing.join(", "));
    vec![
        Diagnostic::new(Severity::Note, context.spec_path("proxy.no"), message)
            .note("casement adds them on its hosts; other programs with this list send requests for the API server and services to the proxy")
            .help("add them, or remove `no` so that casement writes the list"),
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
        let set = own.transport.is_some() || own.auth.is_some();
        let merged = own.merged_with(all);
        if set && bad(merged.transport, merged.auth) {
            paths.push(context.host_path(index).field("access").field("winrm"));
        }
    }
    paths
        .into_iter()
        .map(|path| {
            Diagnostic::error(path.field("auth"), "`auth: basic` over `transport: http` sends the password in clear text, and WinRM responds with 401")
                .label(path.field("transport"), "not encrypted")
                .note("Windows rejects basic authentication on unencrypted connections")
                .help("set `transport: https` or `auth: ntlm`")
        })
        .collect()
}
