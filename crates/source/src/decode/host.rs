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
use crate::outline::{HostOutline, Outline, Placed};
use crate::reader::{At, Reader};
use crate::shapes;

/// All hosts; `None` after a finding in any of them.
pub(super) fn hosts(
    reader: &mut Reader<'_>,
    at: &At<'_>,
    outline: &mut Outline,
) -> Option<Vec<Host>> {
    let items = reader.list(at, "a list of hosts")?;
    let mut outlines = Vec::new();
    let mut hosts = Vec::new();
    let number = items.len();
    for at in items {
        let (seen, host) = host(reader, &at, outline.existing);
        outlines.push(seen);
        hosts.extend(host);
    }
    outline.hosts = Some(outlines);
    (hosts.len() == number).then_some(hosts)
}

fn host(reader: &mut Reader<'_>, at: &At<'_>, existing: bool) -> (HostOutline, Option<Host>) {
    let mut seen = HostOutline {
        path: at.path.clone(),
        name: None,
        address: None,
        os: None,
        roles: Vec::new(),
        pod_cidr: None,
    };
    let Some(mapping) = Mapping::read(reader, at, &shapes::HOST) else {
        return (seen, None);
    };
    seen.name = mapping
        .required("name")
        .and_then(|at| reader.parse(&at, "a name", "windows01"));
    seen.address = mapping
        .required("address")
        .and_then(|at| address(reader, &at));
    seen.os = mapping
        .required("os")
        .and_then(|at| reader.named::<HostOs>(&at, "operating system"));
    let roles = roles(reader, &mapping, &mut seen);
    let managed = if_given(mapping.get("managed"), |at| reader.boolean(&at));
    let rest = rest(reader, &mapping, &mut seen);
    if let (Some(os), Some(rest)) = (seen.os, &rest) {
        winrm_on_linux(reader, at, &rest.access, os);
    }
    let host = (|| {
        let (os, rest) = (seen.os?, rest?);
        let managed = managed?;
        Some(Host {
            name: seen.name.clone()?,
            address: seen.address?,
            os,
            roles: roles?,
            managed: managed.unwrap_or_else(|| defaults::managed(os.family(), existing)),
            hostname: rest.hostname,
            interface: rest.interface,
            access: rest.access,
            labels: rest.labels,
            taints: rest.taints.unwrap_or_else(|| defaults::taints(os.family())),
            pod_cidr: rest.pod_cidr,
            kubelet_args: rest.kubelet_args,
            state_dir: rest.state_dir,
        })
    })();
    (seen, host)
}

/// What few hosts say.
struct Rest {
    hostname: Option<HostName>,
    interface: Option<InterfaceName>,
    access: HostAccess,
    labels: BTreeMap<LabelKey, LabelValue>,
    taints: Option<Vec<Taint>>,
    pod_cidr: Option<Cidrs>,
    kubelet_args: BTreeMap<FlagName, FlagValue>,
    state_dir: Option<HostFolder>,
}

fn rest(reader: &mut Reader<'_>, mapping: &Mapping<'_>, seen: &mut HostOutline) -> Option<Rest> {
    let hostname = if_given(mapping.get("hostname"), |at| {
        reader.parse(&at, "a name", "windows01")
    });
    let interface = if_given(mapping.get("interface"), |at| {
        reader.parse(&at, "the name of an interface", "Ethernet")
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
        seen.pod_cidr = Some(at.path.clone());
        kubernetes::cidrs(reader, &at, defaults::node_cidr())
    });
    let kubelet_args = or_default(
        mapping.get("kubeletArgs"),
        |at| reader.parse_pairs(&at, "a mapping of flags", ("max-pods", "110")),
        BTreeMap::new,
    );
    let state_dir = if_given(mapping.get("stateDir"), |at| {
        state_dir(reader, &at, seen.os)
    });
    Some(Rest {
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

/// The folder in the host's own way of writing; either, if nobody knows what
/// the host runs.
fn state_dir(reader: &mut Reader<'_>, at: &At<'_>, os: Option<HostOs>) -> Option<HostFolder> {
    let text = reader.text(at, "a folder on the host")?;
    let windows = os.map_or(!text.starts_with('/'), HostOs::is_windows);
    if windows {
        let path = reader.parse(at, "a folder on Windows", r"D:\casement")?;
        return Some(HostFolder::Windows(path));
    }
    let path = reader.parse(at, "a folder on Linux", "/var/lib/casement")?;
    Some(HostFolder::Linux(path))
}

/// WinRM is a way to Windows only.
fn winrm_on_linux(reader: &mut Reader<'_>, host: &At<'_>, access: &HostAccess, os: HostOs) {
    if access.winrm.is_none() || os.is_windows() {
        return;
    }
    let path = host.path.field("access").field("winrm");
    let finding = Diagnostic::error(path, format!("`{os}` cannot be reached over WinRM"))
        .code(codes::LONELY_FIELD)
        .at(Part::Key)
        .label(host.path.field("os"), "this host runs Linux");
    reader.add(finding.help("leave `winrm` out: it is reached over SSH"));
}

fn address(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Ipv4Addr> {
    let text = reader.text(at, "an IPv4 address")?;
    let wrong = |reason: &str| {
        let message = format!("{} is no IPv4 address: {reason}", at.node.described());
        Diagnostic::error(at.path.clone(), message).code(codes::ADDRESS)
    };
    let bare = text.split(['/', ':']).next().unwrap_or_default();
    let finding = match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            let Some(reason) = no_host(address) else {
                return Some(address);
            };
            let message = format!("`{address}` is no address of a host: {reason}");
            let finding = Diagnostic::error(at.path.clone(), message).code(codes::ADDRESS);
            finding.help("give the address at which the host is reached")
        }
        Ok(IpAddr::V6(_)) => wrong("it is an IPv6 address").help("give the host's IPv4 address"),
        Err(_) if bare != text && bare.parse::<Ipv4Addr>().is_ok() => {
            wrong("more than the address stands there").help(if text.contains('/') {
                format!("write `address: {bare}`")
            } else {
                format!("write `address: {bare}`; a port goes to `access.ssh.port`")
            })
        }
        Err(_) => wrong("four numbers are wanted, such as 10.3.0.4")
            .help("give the host's IPv4 address; a name for SSH goes to `access.ssh.host`"),
    };
    reader.add(finding);
    None
}

/// Why an address is none that a host could have, if so. What begins with 127.0
/// is what people mean by this machine; simulated hosts have others of 127.0.0.0/8.
fn no_host(address: Ipv4Addr) -> Option<&'static str> {
    if matches!(address.octets(), [127, 0, ..]) {
        return Some("it means this machine");
    }
    if address.is_multicast() || address.is_broadcast() {
        return Some("it means many hosts");
    }
    (address.octets().first() == Some(&0)).then_some("it means no host")
}

fn roles(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    seen: &mut HostOutline,
) -> Option<BTreeSet<Role>> {
    let at = match mapping.get("roles") {
        Given::Value(at) => at,
        Given::Nothing => return Some(defaults::roles()),
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
            seen.roles.push(Placed {
                value,
                path: at.path,
                written: true,
            });
        }
    }
    let whole = seen.roles.len() == number;
    whole.then(|| seen.roles.iter().map(|role| role.value).collect())
}
