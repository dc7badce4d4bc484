//! Checks across fields.

mod allocation;
mod hosts;

use casement_diag::Diagnostic;
use casement_spec::{Cidr, Role};

use crate::codes;
use crate::partial::{FieldValue, PartialCluster, PartialHost};
use crate::reader::Reader;

const SUPPORTED_MINORS: std::ops::RangeInclusive<u64> = 21..=36;
/// Networks to suggest, most common first.
const COMMON_NETWORKS: [&str; 4] = [
    "10.96.0.0/12",
    "10.244.0.0/16",
    "172.20.0.0/16",
    "192.168.128.0/17",
];

pub(crate) fn all(partial: &PartialCluster, reader: &mut Reader<'_>) {
    version(partial, reader);
    overlap(partial, reader);
    let Some(list) = &partial.hosts else { return };
    for host in list {
        roles(host, reader);
        host_in_network(host, partial, reader);
        hosts::long_name(host, reader);
    }
    hosts::duplicates(list, reader);
    hosts::no_windows(list, partial, reader);
    hosts::no_control_plane(list, partial, reader);
    allocation::pod_networks(list, partial, reader);
}

fn version(partial: &PartialCluster, reader: &mut Reader<'_>) {
    let Some(version) = &partial.version else {
        return;
    };
    let (major, minor) = version.value.minor();
    if major == 1 && SUPPORTED_MINORS.contains(&minor) {
        return;
    }
    let (first, last) = (SUPPORTED_MINORS.start(), SUPPORTED_MINORS.end());
    let message = format!(
        "Kubernetes {} is not supported, only 1.{first} to 1.{last} are",
        version.value
    );
    let finding = Diagnostic::error(version.path.clone(), message).code(codes::VERSION);
    reader.add(finding.help("use a supported version, such as `version: 1.36.3`"));
}

fn overlap(partial: &PartialCluster, reader: &mut Reader<'_>) {
    let (Some(pods), Some(services)) = (&partial.pods, &partial.services) else {
        return;
    };
    if !pods.value.overlaps(services.value) {
        return;
    }
    let pods_contain = pods.value.net().contains(&services.value.net());
    let (outer, inner) = if pods_contain {
        (pods, services)
    } else {
        (services, pods)
    };
    let (here, there) = if outer.explicit {
        (outer, inner)
    } else {
        (inner, outer)
    };
    let mut finding = Diagnostic::error(here.path.clone(), "the pod and service networks overlap")
        .code(codes::OVERLAP);
    if there.explicit {
        finding = finding
            .here("contains …")
            .label(there.path.clone(), "… this");
    } else {
        let name = there.path.last_field().unwrap_or_default();
        finding = finding.note(format!("`{name}` is {} by default", there.value));
    }
    let free = COMMON_NETWORKS
        .iter()
        .filter_map(|text| text.parse::<Cidr>().ok())
        .find(|free| is_free(*free, pods.value.v4(), partial));
    if let Some(free) = free {
        finding = finding.help(format!("{free} is free: `serviceCidr: {free}`"));
    }
    reader.add(finding);
}

fn is_free(network: Cidr, pods: Cidr, partial: &PartialCluster) -> bool {
    let hosts = partial.hosts.iter().flatten();
    let mut addresses = hosts.filter_map(|host| host.address);
    !network.overlaps(pods) && !addresses.any(|address| network.contains(address))
}

fn roles(host: &PartialHost, reader: &mut Reader<'_>) {
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
                "etcd has no supported Windows build",
            ),
            _ => continue,
        };
        reader.add(finding);
    }
}

fn windows_role(
    host: &PartialHost,
    role: &FieldValue<Role>,
    message: &str,
    reason: &str,
) -> Diagnostic {
    Diagnostic::error(role.path.clone(), message)
        .code(codes::WINDOWS_ROLE)
        .label(host.path.field("os"), "this host runs Windows")
        .note(reason)
        .help("make it a worker: `roles: [worker]`")
}

fn host_in_network(host: &PartialHost, partial: &PartialCluster, reader: &mut Reader<'_>) {
    let Some(address) = host.address else { return };
    let networks = [("pod", &partial.pods), ("service", &partial.services)];
    for (kind, network) in networks {
        let Some(network) = network else { continue };
        if !network.value.v4().contains(address) {
            continue;
        }
        let message = format!(
            "the address of {} is in the {kind} network: {address} is in {}",
            host.title(),
            network.value.v4()
        );
        let mut finding =
            Diagnostic::error(host.path.field("address"), message).code(codes::HOST_INSIDE);
        if network.explicit {
            finding = finding.label(network.path.clone(), format!("the {kind} network"));
        } else {
            let name = network.path.last_field().unwrap_or_default();
            finding = finding.note(format!("`{name}` is {} by default", network.value));
        }
        reader.add(finding.help(
            "choose another network or address; traffic from pods to this address would stay in the cluster",
        ));
    }
}
