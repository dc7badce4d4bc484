//! The hosts.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use casement_spec::{HostName, LabelKey, LabelValue, Taint};

use super::access::{Login, Shared};
use super::known::{Known, Said};
use super::roles;
use crate::import::Place;
use crate::import::ansible::{Host, Value};
use crate::import::draft::Notes;
use crate::import::sheet::Sheet;

/// A host as it is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) address: String,
    address_from: String,
    pub(super) windows: bool,
    windows_because: String,
    roles: Vec<&'static str>,
    /// What the machine is to call itself.
    hostname: Option<Said>,
    labels: (Vec<(String, String)>, String),
    taints: (Vec<String>, String),
    pub(super) login: Login,
}

/// The hosts that have a role.
pub(super) fn gather(known: &mut Known<'_>, notes: &mut Notes) -> Vec<Written> {
    let inventory = known.inventory;
    let of = |host: &Host, groups: &[&str]| groups.iter().any(|group| inventory.is_in(host, group));
    let any = [
        roles::CONTROL_PLANE.as_slice(),
        &roles::ETCD,
        &roles::WORKER,
        &roles::WINDOWS,
    ];
    let named = inventory
        .hosts()
        .iter()
        .any(|host| any.iter().any(|groups| of(host, groups)));
    if !named {
        notes.assumed(
            "no group of the inventory is one of kubespray's: every host is written as a worker",
        );
    }
    let mut hosts = Vec::new();
    let mut names = BTreeSet::new();
    for host in inventory.hosts() {
        if of(host, &roles::BASTION) {
            continue;
        }
        let windows = windows(known, host);
        let mut roles = Vec::new();
        if of(host, &roles::CONTROL_PLANE) {
            roles.push("control-plane");
        }
        if of(host, &roles::WORKER) || of(host, &roles::WINDOWS) || !named {
            roles.push("worker");
        }
        if of(host, &roles::ETCD) {
            roles.push("etcd");
        }
        if roles.is_empty() {
            let text = format!("the host `{}`: it is in no group that is a role", host.name);
            notes.not_carried(Some(&host.place), text);
            continue;
        }
        let written = written(known, host, (windows, roles), notes);
        if !names.insert(written.name.clone()) {
            let text = format!(
                "the host `{}`: another host is called `{}` already",
                host.name, written.name
            );
            notes.not_carried(Some(&host.place), text);
            continue;
        }
        hosts.push(written);
    }
    hosts
}

/// Why a host runs Windows, if it does.
fn windows<'i>(known: &mut Known<'i>, host: &'i Host) -> Option<String> {
    let groups = roles::WINDOWS.iter();
    let mut groups = groups.filter(|group| known.inventory.is_in(host, group));
    let group = groups.next().map(|group| format!("in the group {group}"));
    let signs = [
        ("ansible_connection", ["winrm", "psrp"]),
        ("ansible_shell_type", ["cmd", "powershell"]),
        ("ansible_os_family", ["Windows", "windows"]),
    ];
    let mut reason = group;
    for (name, values) in signs {
        let said = known.of(host, &[name]);
        if let Some(said) = said.filter(|said| values.contains(&said.value.as_str())) {
            let origin = said.origin();
            reason = Some(reason.map_or(origin.clone(), |reason| format!("{reason}, {origin}")));
        }
    }
    reason
}

fn written<'i>(
    known: &mut Known<'i>,
    host: &'i Host,
    (windows_because, roles): (Option<String>, Vec<&'static str>),
    notes: &mut Notes,
) -> Written {
    let hostname = known.of(host, &["kubernetes_node_hostname"]);
    let wanted = hostname
        .as_ref()
        .map_or(host.name.as_str(), |said| said.value.as_str());
    let name = node_name(wanted);
    if name != wanted {
        let text =
            format!("the name `{wanted}`: a node cannot be called that, `{name}` is written");
        notes.not_carried(Some(&host.place), text);
    }
    let (address, address_from) = address(known, host, notes);
    let windows = windows_because.is_some();
    Written {
        name,
        place: host.place.clone(),
        address,
        address_from,
        windows,
        windows_because: windows_because.unwrap_or_default(),
        roles,
        hostname: hostname.filter(|_| windows),
        labels: labels(known, host, notes),
        taints: taints(known, host, notes),
        login: Login::of(known, host, windows, notes),
    }
}

/// A name that a node can have.
fn node_name(wanted: &str) -> String {
    if wanted.parse::<HostName>().is_ok() {
        return wanted.to_owned();
    }
    if wanted.parse::<Ipv4Addr>().is_ok() {
        return format!("host-{}", wanted.replace('.', "-"));
    }
    let first = wanted.split('.').next().unwrap_or(wanted);
    match first.parse::<HostName>() {
        Ok(_) => first.to_owned(),
        Err(invalid) => invalid.suggestion.unwrap_or_else(|| "host".to_owned()),
    }
}

/// Where the node is. Kubespray has up to three addresses of a host; casement
/// knows one, and it is the one that nodes see.
fn address<'i>(known: &mut Known<'i>, host: &'i Host, notes: &mut Notes) -> (String, String) {
    let node = known.of(host, &["ip", "access_ip"]);
    let reached = known.of(host, &["ansible_host", "ansible_ssh_host"]);
    match (node, reached) {
        (Some(node), Some(reached)) if node.value != reached.value => {
            let text = format!(
                "`{}`: Ansible reaches `{}` at `{}`; casement reaches it where its node is, at `{}`, if need be through a bastion",
                reached.name, host.name, reached.value, node.value
            );
            notes.not_carried(Some(&reached.place), text);
            (node.value.clone(), node.origin())
        }
        (Some(said), _) | (None, Some(said)) => (said.value.clone(), said.origin()),
        (None, None) => (host.name.clone(), format!("its name at {}", host.place)),
    }
}

fn labels<'i>(
    known: &mut Known<'i>,
    host: &'i Host,
    notes: &mut Notes,
) -> (Vec<(String, String)>, String) {
    let Some(variable) = known.variable(host, "node_labels") else {
        return Default::default();
    };
    let pairs = match &variable.value {
        Value::Map(pairs) => pairs.as_slice(),
        _ => &[],
    };
    let good = pairs.iter().filter_map(|(key, value)| {
        let value = value.word()?;
        let fits = key.parse::<LabelKey>().is_ok() && value.parse::<LabelValue>().is_ok();
        fits.then(|| (key.clone(), value))
    });
    let good: Vec<_> = good.collect();
    if good.is_empty() || good.len() < pairs.len() {
        notes.not_carried(
            Some(&variable.place),
            "`node_labels`: not all of it are labels",
        );
    }
    (good, format!("node_labels at {}", variable.place))
}

fn taints<'i>(known: &mut Known<'i>, host: &'i Host, notes: &mut Notes) -> (Vec<String>, String) {
    let Some(variable) = known.variable(host, "node_taints") else {
        return Default::default();
    };
    let items = match &variable.value {
        Value::List(items) => items.as_slice(),
        _ => &[],
    };
    let good = items.iter().filter_map(Value::word);
    let good: Vec<_> = good
        .filter(|taint| taint.parse::<Taint>().is_ok())
        .collect();
    if good.is_empty() || good.len() < items.len() {
        notes.not_carried(
            Some(&variable.place),
            "`node_taints`: not all of it are taints",
        );
    }
    (good, format!("node_taints at {}", variable.place))
}

pub(super) fn write(sheet: &mut Sheet, hosts: &[Written], shared: &Shared) {
    sheet.open("hosts", "");
    for host in hosts {
        sheet.item();
        sheet.text("name", &host.name, &host.place.to_string());
        sheet.text("address", &host.address, &host.address_from);
        let os = if host.windows { "windows" } else { "linux" };
        sheet.text("os", os, &host.windows_because);
        let roles: Vec<_> = host.roles.iter().map(|role| (*role).to_owned()).collect();
        sheet.list("roles", &roles, "");
        if let Some(said) = &host.hostname {
            sheet.text("hostname", &node_name(&said.value), &said.origin());
        }
        let (labels, origin) = &host.labels;
        if !labels.is_empty() {
            sheet.open("labels", origin);
            for (key, value) in labels {
                sheet.text(key, value, "");
            }
            sheet.close();
        }
        let (taints, origin) = &host.taints;
        if !taints.is_empty() {
            sheet.list("taints", taints, origin);
        }
        host.login.write(sheet, shared);
        sheet.close();
    }
    sheet.close();
}
