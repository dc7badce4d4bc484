//! `hosts`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use casement_diag::{Diagnostic, Part};
use casement_spec::{
    Cidrs, FlagName, FlagValue, Host, HostAccess, HostFolder, HostName, HostOs, InterfaceName,
    LabelKey, LabelValue, Role, Taint, defaults,
};

use super::{access, if_given, kubernetes, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::partial::{FieldValue, PartialCluster, PartialHost};
use crate::reader::{FieldNode, Reader};
use crate::shapes;

/// `None` after a finding in any host.
pub(super) fn hosts(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    partial: &mut PartialCluster,
) -> Option<Vec<Host>> {
    let items = reader.list(at, "a list of hosts")?;
    let mut partial_hosts = Vec::new();
    let mut hosts = Vec::new();
    let number = items.len();
    for at in items {
        let (host_partial, host) = host(reader, &at, partial.existing);
        partial_hosts.push(host_partial);
        hosts.extend(host);
    }
    partial.hosts = Some(partial_hosts);
    (hosts.len() == number).then_some(hosts)
}

fn host(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    existing: bool,
) -> (PartialHost, Option<Host>) {
    let mut host_partial = PartialHost {
        path: at.path.clone(),
        name: None,
        address: None,
        os: None,
        roles: Vec::new(),
        pod_cidr: None,
    };
    let Some(mapping) = Mapping::read(reader, at, &shapes::HOST) else {
        return (host_partial, None);
    };
    host_partial.name = mapping
        .required("name")
        .and_then(|at| reader.parse(&at, "a name", "windows01"));
    host_partial.address = mapping
        .required("address")
        .and_then(|at| address(reader, &at));
    host_partial.os = mapping
        .required("os")
        .and_then(|at| reader.named::<HostOs>(&at, "operating system"));
    let roles = roles(reader, &mapping, &mut host_partial);
    let managed = if_given(mapping.get("managed"), |at| reader.boolean(&at));
    let optional = optional_fields(reader, &mapping, &mut host_partial);
    if let (Some(os), Some(optional)) = (host_partial.os, &optional) {
        winrm_on_linux(reader, at, &optional.access, os);
    }
    let host = (|| {
        let (os, optional) = (host_partial.os?, optional?);
        let managed = managed?;
        Some(Host {
            name: host_partial.name.clone()?,
            address: host_partial.address?,
            os,
            roles: roles?,
            managed: managed.unwrap_or_else(|| defaults::managed(os.family(), existing)),
            hostname: optional.hostname,
            interface: optional.interface,
            access: optional.access,
            labels: optional.labels,
            taints: optional
                .taints
                .unwrap_or_else(|| defaults::taints(os.family())),
            pod_cidr: optional.pod_cidr,
            kubelet_args: optional.kubelet_args,
            state_dir: optional.state_dir,
        })
    })();
    (host_partial, host)
}

struct OptionalFields {
    hostname: Option<HostName>,
    interface: Option<InterfaceName>,
    access: HostAccess,
    labels: BTreeMap<LabelKey, LabelValue>,
    taints: Option<Vec<Taint>>,
    pod_cidr: Option<Cidrs>,
    kubelet_args: BTreeMap<FlagName, FlagValue>,
    state_dir: Option<HostFolder>,
}

fn optional_fields(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    host_partial: &mut PartialHost,
) -> Option<OptionalFields> {
    let hostname = if_given(mapping.get("hostname"), |at| {
        reader.parse(&at, "a name", "windows01")
    });
    let interface = if_given(mapping.get("interface"), |at| {
        reader.parse(&at, "an interface name", "Ethernet")
    });
    let access = or_default(
        mapping.get("access"),
        |at| access::host_access(reader, &at, &shapes::HOST_ACCESS),
        HostAccess::default,
    );
    let labels = or_default(
        mapping.get("labels"),
        |at| reader.parse_pairs(&at, "a mapping of labels", ("shop.example/tier", "web")),
        BTreeMap::new,
    );
    let taints = if_given(mapping.get("taints"), |at| {
        reader.parse_list(&at, "a list of taints", "os=windows:NoSchedule")
    });
    let pod_cidr = if_given(mapping.get("podCidr"), |at| {
        host_partial.pod_cidr = Some(at.path.clone());
        kubernetes::cidrs(reader, &at, defaults::node_cidr())
    });
    let kubelet_args = or_default(
        mapping.get("kubeletArgs"),
        |at| reader.parse_pairs(&at, "a mapping of flags", ("max-pods", "110")),
        BTreeMap::new,
    );
    let state_dir = if_given(mapping.get("stateDir"), |at| {
        state_dir(reader, &at, host_partial.os)
    });
    Some(OptionalFields {
        hostname: hostname?,
        interface: interface?,
        access: access?,
        labels: labels?,
        taints: taints?,
        pod_cidr: pod_cidr?,
        kubelet_args: kubelet_args?,
        state_dir: state_dir?,
    })
}

/// The path in the syntax of the host's OS; if that is unknown, a leading `/` means
/// Linux.
fn state_dir(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    os: Option<HostOs>,
) -> Option<HostFolder> {
    let text = reader.text(at, "a directory on the host")?;
    let windows = os.map_or(!text.starts_with('/'), HostOs::is_windows);
    if windows {
        let path = reader.parse(at, "a Windows directory", r"D:\casement")?;
        return Some(HostFolder::Windows(path));
    }
    let path = reader.parse(at, "a Linux directory", "/srv/casement")?;
    Some(HostFolder::Linux(path))
}

fn winrm_on_linux(reader: &mut Reader<'_>, host: &FieldNode<'_>, access: &HostAccess, os: HostOs) {
    if access.winrm.is_none() || os.is_windows() {
        return;
    }
    let path = host.path.field("access").field("winrm");
    let finding = Diagnostic::error(path, format!("`{os}` does not support WinRM"))
        .code(codes::FIELD_DEPENDENCY)
        .at(Part::Key)
        .label(host.path.field("os"), "this host runs Linux");
    reader.add(finding.help("remove `winrm`; Linux hosts use SSH"));
}

fn address(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Ipv4Addr> {
    let text = reader.text(at, "an IPv4 address")?;
    let invalid = |reason: &str| {
        let message = format!(
            "{} is not a valid IPv4 address: {reason}",
            at.node.described()
        );
        Diagnostic::error(at.path.clone(), message).code(codes::ADDRESS)
    };
    let bare = text.split(['/', ':']).next().unwrap_or_default();
    let finding = match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            let Some(reason) = unusable_reason(address) else {
                return Some(address);
            };
            let message = format!("`{address}` is not a valid host address: {reason}");
            let finding = Diagnostic::error(at.path.clone(), message).code(codes::ADDRESS);
            finding.help("set the address that casement connects to")
        }
        Ok(IpAddr::V6(_)) => {
            invalid("it is an IPv6 address").help("set the IPv4 address of the host")
        }
        Err(_) if bare != text && bare.parse::<Ipv4Addr>().is_ok() => {
            invalid("it contains more than an address").help(if text.contains('/') {
                format!("write `address: {bare}`")
            } else {
                format!("write `address: {bare}` and set the port as `access.ssh.port`")
            })
        }
        Err(_) => invalid("expected four numbers, such as 10.3.0.4")
            .help("set the IPv4 address of the host; set an SSH host name as `access.ssh.host`"),
    };
    reader.add(finding);
    None
}

/// Why a host cannot have this address. Only 127.0.0.0/16 is rejected as loopback:
/// simulated hosts use the rest of 127.0.0.0/8.
fn unusable_reason(address: Ipv4Addr) -> Option<&'static str> {
    if matches!(address.octets(), [127, 0, ..]) {
        return Some("it is a loopback address");
    }
    if address.is_multicast() || address.is_broadcast() {
        return Some("it is a multicast or broadcast address");
    }
    (address.octets().first() == Some(&0)).then_some("it is in 0.0.0.0/8")
}

fn roles(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    host_partial: &mut PartialHost,
) -> Option<BTreeSet<Role>> {
    let at = match mapping.get("roles") {
        Given::Value(at) => at,
        Given::Absent => return Some(defaults::roles()),
    };
    let items = reader.list(&at, "a list of roles")?;
    if items.is_empty() {
        let finding = Diagnostic::error(at.path, "a host needs at least one role");
        reader.add(
            finding
                .code(codes::BAD_VALUE)
                .help("write `roles: [worker]`"),
        );
        return None;
    }
    let number = items.len();
    for at in items {
        if let Some(value) = reader.named::<Role>(&at, "role") {
            host_partial.roles.push(FieldValue {
                value,
                path: at.path,
                explicit: true,
            });
        }
    }
    let valid = host_partial.roles.len() == number;
    valid.then(|| host_partial.roles.iter().map(|role| role.value).collect())
}
