//! What no single field shows.

mod allocation;
mod hosts;

use casement_diag::Diagnostic;
use casement_spec::{Cidr, Role};

use crate::codes;
use crate::outline::{HostOutline, Outline, Placed};
use crate::reader::Reader;

/// The minor versions that are known.
const MINORS: std::ops::RangeInclusive<u64> = 21..=36;
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
    let Some(list) = &outline.hosts else { return };
    for host in list {
        roles(host, reader);
        inside(host, outline, reader);
        hosts::long_name(host, reader);
    }
    hosts::same(list, reader);
    hosts::no_windows(list, outline, reader);
    hosts::no_control_plane(list, outline, reader);
    allocation::pod_networks(list, outline, reader);
}

fn version(outline: &Outline, reader: &mut Reader<'_>) {
    let Some(version) = &outline.version else {
        return;
    };
    let (major, minor) = version.value.minor();
    if major == 1 && MINORS.contains(&minor) {
        return;
    }
    let (first, last) = (MINORS.start(), MINORS.end());
    let message = format!(
        "Kubernetes {} is not known: 1.{first} to 1.{last} are",
        version.value
    );
    let finding = Diagnostic::error(version.path.clone(), message).code(codes::VERSION);
    reader.add(finding.help("an example is `version: 1.36.3`"));
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
        .find(|free| is_free(*free, pods.value.v4(), outline));
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
            _ => continue,
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
        if !network.value.v4().contains(address) {
            continue;
        }
        let message = format!(
            "the address of {} lies in the {kind} network: {address} is in {}",
            host.title(),
            network.value.v4()
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
