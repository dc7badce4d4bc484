//! Hosts against each other: names, addresses, and who is there at all.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::Role;

use crate::codes;
use crate::outline::{HostOutline, Outline};
use crate::reader::Reader;

pub(super) fn long_name(host: &HostOutline, reader: &mut Reader<'_>) {
    let Some(name) = host.name.as_ref().filter(|_| host.runs_windows()) else {
        return;
    };
    if !name.is_cut_by_netbios() {
        return;
    }
    let message = format!(
        "Windows cuts the name `{name}` to `{}` in places",
        name.netbios().to_uppercase()
    );
    let finding = Diagnostic::warning(host.path.field("name"), message).code(codes::LONG_NAME);
    reader.add(
        finding
            .note("a NetBIOS name has 15 characters")
            .help("prefer a shorter name"),
    );
}

/// Names and addresses that two hosts share.
pub(super) fn same(hosts: &[HostOutline], reader: &mut Reader<'_>) {
    let mut names: BTreeMap<&str, &HostOutline> = BTreeMap::new();
    let mut addresses: BTreeMap<Ipv4Addr, &HostOutline> = BTreeMap::new();
    let mut short: BTreeMap<&str, &HostOutline> = BTreeMap::new();
    for host in hosts {
        let mut twice = |first: &HostOutline, field: &str, message: String, help: &str, code| {
            reader.add(
                Diagnostic::error(host.path.field(field), message)
                    .code(code)
                    .here("and here")
                    .label(first.path.field(field), "here")
                    .help(help),
            );
        };
        if let Some(address) = host.address {
            if let Some(first) = addresses.get(&address) {
                let message = format!("two hosts have the address {address}");
                let help = "each host has an address of its own";
                twice(first, "address", message, help, codes::SAME_ADDRESS);
            } else {
                addresses.insert(address, host);
            }
        }
        let Some(name) = &host.name else { continue };
        if let Some(first) = names.get(name.as_str()) {
            let message = format!("two hosts are called `{name}`");
            let help = "the name is that of the Node: give each its own";
            twice(first, "name", message, help, codes::SAME_NAME);
            continue;
        }
        names.insert(name.as_str(), host);
        if !host.runs_windows() {
            continue;
        }
        if let Some(first) = short.get(name.netbios()) {
            let cut = name.netbios().to_uppercase();
            let message = format!("two Windows hosts are both `{cut}` after 15 characters");
            let help = "let the names differ in their first 15 characters";
            twice(first, "name", message, help, codes::SAME_NETBIOS);
        } else {
            short.insert(name.netbios(), host);
        }
    }
}

pub(super) fn no_windows(hosts: &[HostOutline], outline: &Outline, reader: &mut Reader<'_>) {
    let undecided = |host: &HostOutline| host.os.is_none();
    if hosts
        .iter()
        .any(|host| host.runs_windows() || undecided(host))
    {
        return;
    }
    let path = FieldPath::root().field("spec").field("hosts");
    let message = match outline.hosts.as_deref() {
        Some([]) => "the list of hosts is empty",
        _ => "no host runs Windows: there is nothing to do",
    };
    let finding = Diagnostic::error(path, message)
        .code(codes::NO_WINDOWS)
        .at(Part::Key);
    reader.add(finding.help(
        "add one: `- {name: windows01, address: 10.3.0.4, os: windows-2022, roles: [worker]}`",
    ));
}

pub(super) fn no_control_plane(hosts: &[HostOutline], outline: &Outline, reader: &mut Reader<'_>) {
    let runs = |host: &HostOutline| host.roles.iter().any(|r| r.value == Role::ControlPlane);
    let unread = |host: &HostOutline| host.os.is_none() || host.name.is_none();
    if outline.existing || hosts.iter().any(|host| runs(host) || unread(host)) {
        return;
    }
    let path = FieldPath::root().field("spec");
    let message = "no host has the role `control-plane`, and no control plane exists already";
    let finding = Diagnostic::error(path, message)
        .code(codes::NO_CONTROL_PLANE)
        .at(Part::Key);
    reader.add(finding.help(
        "name a cluster that runs: `existing: {kubeconfig: ./admin.conf}`; \
         or make a Linux host one: `roles: [control-plane]`",
    ));
}
