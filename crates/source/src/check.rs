//! What no single field shows.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::{Cidr, Role};

use crate::codes;
use crate::outline::{HostOutline, Outline, Placed};
use crate::reader::Reader;

/// The one minor version that is known so far.
const MINOR: (u64, u64) = (1, 36);
/// Networks to suggest, the usual ones first.
const USUAL: [&str; 4] = [
    "10.96.0.0/12",
    "10.244.0.0/16",
    "172.20.0.0/16",
    "192.168.128.0/17",
];

/// Every check, on whatever could be read.
pub(crate) fn all(outline: &Outline, reader: &mut Reader<'_>) {
    version(outline, reader);
    overlap(outline, reader);
    let Some(hosts) = &outline.hosts else { return };
    for host in hosts {
        roles(host, reader);
        inside(host, outline, reader);
        long_name(host, reader);
    }
    same(hosts, reader);
    no_windows(hosts, outline, reader);
}

fn version(outline: &Outline, reader: &mut Reader<'_>) {
    let Some(version) = &outline.version else {
        return;
    };
    if version.value.minor() == MINOR {
        return;
    }
    let message = format!("Kubernetes {} is not supported yet", version.value);
    let finding = Diagnostic::error(version.path.clone(), message).code(codes::VERSION_NOT_YET);
    reader.add(finding.help("1.36 is: `version: 1.36.3`"));
}

fn overlap(outline: &Outline, reader: &mut Reader<'_>) {
    let (Some(pods), Some(services)) = (&outline.pods, &outline.services) else {
        return;
    };
    if !pods.value.overlaps(services.value) {
        return;
    }
    let pods_hold = pods.value.net().contains(&services.value.net());
    let (outer, inner) = if pods_hold {
        (pods, services)
    } else {
        (services, pods)
    };
    let (here, there) = if outer.written {
        (outer, inner)
    } else {
        (inner, outer)
    };
    let mut finding = Diagnostic::error(here.path.clone(), "the pod and service networks overlap")
        .code(codes::OVERLAP);
    if there.written {
        finding = finding
            .here("contains …")
            .label(there.path.clone(), "… this");
    } else {
        let name = there.path.last_field().unwrap_or_default();
        finding = finding.note(format!("`{name}` is {} by default", there.value));
    }
    let free = USUAL
        .iter()
        .filter_map(|text| text.parse::<Cidr>().ok())
        .find(|free| is_free(*free, pods.value, outline));
    if let Some(free) = free {
        finding = finding.help(format!("{free} is free: `serviceCidr: {free}`"));
    }
    reader.add(finding);
}

fn is_free(network: Cidr, pods: Cidr, outline: &Outline) -> bool {
    let hosts = outline.hosts.iter().flatten();
    let mut addresses = hosts.filter_map(|host| host.address);
    !network.overlaps(pods) && !addresses.any(|address| network.contains(address))
}

fn roles(host: &HostOutline, reader: &mut Reader<'_>) {
    for role in &host.roles {
        let finding = match role.value {
            Role::Worker => continue,
            Role::ControlPlane if host.runs_windows() => windows_role(
                host,
                role,
                "a Windows host cannot be a control-plane node",
                "kube-apiserver and etcd have no Windows builds",
            ),
            Role::Etcd if host.runs_windows() => windows_role(
                host,
                role,
                "a Windows host cannot run etcd",
                "etcd has no Windows build that is supported",
            ),
            other => Diagnostic::error(
                role.path.clone(),
                format!("the role `{other}` is not supported yet"),
            )
            .code(codes::VALUE_NOT_YET)
            .help("`worker` is; leave out the control plane's hosts: `existing` names it"),
        };
        reader.add(finding);
    }
}

fn windows_role(
    host: &HostOutline,
    role: &Placed<Role>,
    message: &str,
    reason: &str,
) -> Diagnostic {
    Diagnostic::error(role.path.clone(), message)
        .code(codes::WINDOWS_ROLE)
        .label(host.path.field("os"), "this host runs Windows")
        .note(reason)
        .help("make it a worker: `roles: [worker]`")
}

fn inside(host: &HostOutline, outline: &Outline, reader: &mut Reader<'_>) {
    let Some(address) = host.address else { return };
    let networks = [("pod", &outline.pods), ("service", &outline.services)];
    for (kind, network) in networks {
        let Some(network) = network else { continue };
        if !network.value.contains(address) {
            continue;
        }
        let message = format!(
            "the address of {} lies in the {kind} network: {address} is in {}",
            host.title(),
            network.value
        );
        let mut finding =
            Diagnostic::error(host.path.field("address"), message).code(codes::HOST_INSIDE);
        if network.written {
            finding = finding.label(network.path.clone(), format!("the {kind} network"));
        } else {
            let name = network.path.last_field().unwrap_or_default();
            finding = finding.note(format!("`{name}` is {} by default", network.value));
        }
        reader.add(finding.help(
            "what pods send there would never leave the cluster: take another network, or address",
        ));
    }
}

fn long_name(host: &HostOutline, reader: &mut Reader<'_>) {
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
fn same(hosts: &[HostOutline], reader: &mut Reader<'_>) {
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

fn no_windows(hosts: &[HostOutline], outline: &Outline, reader: &mut Reader<'_>) {
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
