//! Checks of the list of hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::Role;

use crate::codes;
use crate::partial::{PartialCluster, PartialHost};
use crate::reader::Reader;

pub(super) fn long_name(host: &PartialHost, reader: &mut Reader<'_>) {
    let Some(name) = host.name.as_ref().filter(|_| host.runs_windows()) else {
        return;
    };
    if !name.is_cut_by_netbios() {
        return;
    }
    let message = format!(
        "Windows truncates the name `{name}` to `{}` in NetBIOS",
        name.netbios().to_uppercase()
    );
    let finding = Diagnostic::warning(host.path.field("name"), message).code(codes::LONG_NAME);
    reader.add(
        finding
            .note("NetBIOS names have at most 15 characters")
            .help("choose a name of at most 15 characters"),
    );
}

/// Duplicate names and addresses.
pub(super) fn duplicates(hosts: &[PartialHost], reader: &mut Reader<'_>) {
    let mut names: BTreeMap<&str, &PartialHost> = BTreeMap::new();
    let mut addresses: BTreeMap<Ipv4Addr, &PartialHost> = BTreeMap::new();
    let mut short: BTreeMap<&str, &PartialHost> = BTreeMap::new();
    for host in hosts {
        let mut report = |first: &PartialHost, field: &str, message: String, help: &str, code| {
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
                let help = "give each host a different address";
                report(first, "address", message, help, codes::SAME_ADDRESS);
            } else {
                addresses.insert(address, host);
            }
        }
        let Some(name) = &host.name else { continue };
        if let Some(first) = names.get(name.as_str()) {
            let message = format!("two hosts have the name `{name}`");
            let help = "give each host a different name; it is also the Node name";
            report(first, "name", message, help, codes::SAME_NAME);
            continue;
        }
        names.insert(name.as_str(), host);
        if !host.runs_windows() {
            continue;
        }
        if let Some(first) = short.get(name.netbios()) {
            let cut = name.netbios().to_uppercase();
            let message = format!("two Windows hosts have the NetBIOS name `{cut}`");
            let help = "choose names that differ in the first 15 characters";
            report(first, "name", message, help, codes::SAME_NETBIOS);
        } else {
            short.insert(name.netbios(), host);
        }
    }
}

pub(super) fn no_windows(hosts: &[PartialHost], partial: &PartialCluster, reader: &mut Reader<'_>) {
    let unknown = |host: &PartialHost| host.os.is_none();
    if hosts
        .iter()
        .any(|host| host.runs_windows() || unknown(host))
    {
        return;
    }
    let path = FieldPath::root().field("spec").field("hosts");
    let message = match partial.hosts.as_deref() {
        Some([]) => "the list of hosts is empty",
        _ => "no host runs Windows",
    };
    let finding = Diagnostic::error(path, message)
        .code(codes::NO_WINDOWS)
        .at(Part::Key);
    reader.add(finding.help(
        "add one: `- {name: windows01, address: 10.3.0.4, os: windows-2022, roles: [worker]}`",
    ));
}

pub(super) fn no_control_plane(
    hosts: &[PartialHost],
    partial: &PartialCluster,
    reader: &mut Reader<'_>,
) {
    let runs = |host: &PartialHost| host.roles.iter().any(|r| r.value == Role::ControlPlane);
    let invalid = |host: &PartialHost| host.os.is_none() || host.name.is_none();
    if partial.existing || hosts.iter().any(|host| runs(host) || invalid(host)) {
        return;
    }
    let path = FieldPath::root().field("spec");
    let message = "the cluster has no control plane: no host has the role `control-plane`, and `existing` is not set";
    let finding = Diagnostic::error(path, message)
        .code(codes::NO_CONTROL_PLANE)
        .at(Part::Key);
    reader.add(finding.help(
        "for an existing cluster, add `existing: {kubeconfig: ./admin.conf}`; \
         for a new one, set `roles: [control-plane]` on a Linux host",
    ));
}
