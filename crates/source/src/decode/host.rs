//! `hosts`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use casement_diag::{Diagnostic, Part};
use casement_spec::{
    Host, HostAccess, HostOs, LabelKey, LabelValue, OsFamily, Role, Taint, defaults,
};

use super::{access, if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::outline::{HostOutline, Outline, Placed};
use crate::reader::{At, Reader, short_path};
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
        let (seen, host) = host(reader, &at);
        outlines.push(seen);
        hosts.extend(host);
    }
    outline.hosts = Some(outlines);
    (hosts.len() == number).then_some(hosts)
}

fn host(reader: &mut Reader<'_>, at: &At<'_>) -> (HostOutline, Option<Host>) {
    let mut seen = HostOutline {
        path: at.path.clone(),
        name: None,
        address: None,
        os: None,
        roles: Vec::new(),
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
    seen.os = mapping.required("os").and_then(|at| os(reader, &at));
    let roles = roles(reader, &mapping, &mut seen);
    let access = or_default(
        mapping.get("access"),
        |at| access::host_access(reader, &at),
        HostAccess::default,
    );
    let labels = or_default(
        mapping.get("labels"),
        |at| labels(reader, &at),
        BTreeMap::new,
    );
    let taints = if_given(mapping.get("taints"), |at| taints(reader, &at));
    let managed = if_given(mapping.get("managed"), |at| reader.boolean(&at));
    if let Some(os) = seen.os {
        limits(reader, &mapping, os.family());
    }
    let host = (|| {
        let os = seen.os?;
        Some(Host {
            name: seen.name.clone()?,
            address: seen.address?,
            os,
            roles: roles?,
            managed: managed?.unwrap_or_else(|| defaults::managed(os.family(), true)),
            access: access?,
            labels: labels?,
            taints: taints?.unwrap_or_else(|| defaults::taints(os.family())),
            hostname: None,
            interface: None,
            pod_cidr: None,
            kubelet_args: BTreeMap::new(),
            state_dir: None,
        })
    })();
    (seen, host)
}

/// What one kind of host cannot be told yet.
fn limits(reader: &mut Reader<'_>, mapping: &Mapping<'_>, os: OsFamily) {
    let mut refuse = |at: At<'_>, what: &str, help: &str| {
        let value = at.node.short().map(|value| format!(": {value}"));
        let (name, value) = (short_path(&at.path), value.unwrap_or_default());
        let message = format!("`{name}{value}` {what} is not supported yet");
        let finding = Diagnostic::error(at.path, message).code(codes::VALUE_NOT_YET);
        reader.add(finding.help(help));
    };
    match (os, mapping.get("managed")) {
        (OsFamily::Windows, Given::Value(at)) if at.node.short() == Some("false") => refuse(
            at,
            "on a Windows host",
            "take the host out of the list to leave it alone",
        ),
        _ => {}
    }
    for field in ["labels", "taints"] {
        match (os, mapping.get(field)) {
            (OsFamily::Linux, Given::Value(at)) if !at.node.is_empty_collection() => refuse(
                at,
                "on a Linux host",
                "use `kubectl` for Linux nodes of an existing cluster",
            ),
            _ => {}
        }
    }
}

fn os(reader: &mut Reader<'_>, at: &At<'_>) -> Option<HostOs> {
    let os = reader.named::<HostOs>(at, "operating system")?;
    if matches!(os, HostOs::Windows2019 | HostOs::Windows2025) {
        let message = format!("`os: {os}` is not supported yet");
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::VALUE_NOT_YET);
        reader.add(finding.help("of the Windows Servers, `windows-2022` is"));
    }
    Some(os)
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
            .help("names are not looked up: give the host's IPv4 address"),
    };
    reader.add(finding);
    None
}

/// Why an address is none that a host could have, if so.
fn no_host(address: Ipv4Addr) -> Option<&'static str> {
    if address.is_loopback() {
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

fn labels(reader: &mut Reader<'_>, at: &At<'_>) -> Option<BTreeMap<LabelKey, LabelValue>> {
    let mut whole = true;
    let mut labels = BTreeMap::new();
    for (key, at) in reader.pairs(at, "a mapping of labels")? {
        let value = reader.parse(&at, "a text", "web");
        match (key.parse::<LabelKey>(), value) {
            (Ok(key), Some(value)) => {
                labels.insert(key, value);
            }
            (Err(invalid), _) => {
                let finding = Diagnostic::error(at.path, invalid.to_string());
                let finding = finding.code(codes::BAD_VALUE);
                reader.add(
                    finding
                        .at(Part::Key)
                        .help("an example is `shop.example/tier`"),
                );
                whole = false;
            }
            _ => whole = false,
        }
    }
    whole.then_some(labels)
}

fn taints(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Vec<Taint>> {
    let items = reader.list(at, "a list of taints")?;
    let number = items.len();
    let taints: Vec<Taint> = items
        .iter()
        .filter_map(|at| reader.parse(at, "a text", "os=windows:NoSchedule"))
        .collect();
    (taints.len() == number).then_some(taints)
}
