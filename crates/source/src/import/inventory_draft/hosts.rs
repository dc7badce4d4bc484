//! Writes the list of hosts.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use casement_spec::{HostName, LabelKey, LabelValue, Taint};

use super::access::{Login, SharedLogins};
use super::roles;
use super::variables::{SourcedValue, Variables};
use crate::import::SourceLocation;
use crate::import::ansible::{Host, Value};
use crate::import::draft::Notes;
use crate::import::yaml_writer::YamlWriter;

#[derive(Debug)]
pub(super) struct DraftHost {
    pub(super) name: String,
    pub(super) location: SourceLocation,
    pub(super) address: String,
    address_from: String,
    pub(super) windows: bool,
    windows_reason: String,
    roles: Vec<&'static str>,
    hostname: Option<SourcedValue>,
    labels: (Vec<(String, String)>, String),
    taints: (Vec<String>, String),
    pub(super) login: Login,
}

/// The hosts that have a role.
pub(super) fn collect_hosts(variables: &mut Variables<'_>, notes: &mut Notes) -> Vec<DraftHost> {
    let inventory = variables.inventory;
    let in_any =
        |host: &Host, groups: &[&str]| groups.iter().any(|group| inventory.is_in(host, group));
    let any = [
        roles::CONTROL_PLANE.as_slice(),
        &roles::ETCD,
        &roles::WORKER,
        &roles::WINDOWS,
    ];
    let has_roles = inventory
        .hosts()
        .iter()
        .any(|host| any.iter().any(|groups| in_any(host, groups)));
    if !has_roles {
        notes.assumed("the inventory has no kubespray groups: all hosts are set to workers");
    }
    let mut hosts = Vec::new();
    let mut names = BTreeSet::new();
    for host in inventory.hosts() {
        if in_any(host, &roles::BASTION) {
            continue;
        }
        let windows = windows(variables, host);
        let mut roles = Vec::new();
        if in_any(host, &roles::CONTROL_PLANE) {
            roles.push("control-plane");
        }
        if in_any(host, &roles::WORKER) || in_any(host, &roles::WINDOWS) || !has_roles {
            roles.push("worker");
        }
        if in_any(host, &roles::ETCD) {
            roles.push("etcd");
        }
        if roles.is_empty() {
            let text = format!("host `{}`: not in a group with a role", host.name);
            notes.not_imported(Some(&host.location), text);
            continue;
        }
        let drafted = draft_host(variables, host, (windows, roles), notes);
        if !names.insert(drafted.name.clone()) {
            let text = format!(
                "host `{}`: the name `{}` is already in use",
                host.name, drafted.name
            );
            notes.not_imported(Some(&host.location), text);
            continue;
        }
        hosts.push(drafted);
    }
    hosts
}

/// Why a host is considered a Windows host.
fn windows<'i>(variables: &mut Variables<'i>, host: &'i Host) -> Option<String> {
    let groups = roles::WINDOWS.iter();
    let mut groups = groups.filter(|group| variables.inventory.is_in(host, group));
    let group = groups.next().map(|group| format!("in group {group}"));
    let indicators = [
        ("ansible_connection", ["winrm", "psrp"]),
        ("ansible_shell_type", ["cmd", "powershell"]),
        ("ansible_os_family", ["Windows", "windows"]),
    ];
    let mut reason = group;
    for (name, values) in indicators {
        let setting = variables.of(host, &[name]);
        if let Some(setting) = setting.filter(|setting| values.contains(&setting.value.as_str())) {
            let origin = setting.origin();
            reason = Some(reason.map_or(origin.clone(), |reason| format!("{reason}, {origin}")));
        }
    }
    reason
}

fn draft_host<'i>(
    variables: &mut Variables<'i>,
    host: &'i Host,
    (windows_reason, roles): (Option<String>, Vec<&'static str>),
    notes: &mut Notes,
) -> DraftHost {
    let hostname = variables.of(host, &["kubernetes_node_hostname"]);
    let requested = hostname
        .as_ref()
        .map_or(host.name.as_str(), |setting| setting.value.as_str());
    let name = node_name(requested);
    if name != requested {
        let text = format!("name `{requested}`: not a valid node name, set to `{name}`");
        notes.not_imported(Some(&host.location), text);
    }
    let (address, address_from) = address(variables, host, notes);
    let windows = windows_reason.is_some();
    DraftHost {
        name,
        location: host.location.clone(),
        address,
        address_from,
        windows,
        windows_reason: windows_reason.unwrap_or_default(),
        roles,
        hostname: hostname.filter(|_| windows),
        labels: labels(variables, host, notes),
        taints: taints(variables, host, notes),
        login: Login::of(variables, host, windows, notes),
    }
}

/// A valid node name.
fn node_name(requested: &str) -> String {
    if requested.parse::<HostName>().is_ok() {
        return requested.to_owned();
    }
    if requested.parse::<Ipv4Addr>().is_ok() {
        return format!("host-{}", requested.replace('.', "-"));
    }
    let first = requested.split('.').next().unwrap_or(requested);
    match first.parse::<HostName>() {
        Ok(_) => first.to_owned(),
        Err(invalid) => invalid.suggestion.unwrap_or_else(|| "host".to_owned()),
    }
}

/// Kubespray has up to three addresses per host, casement one: the address for other
/// nodes.
fn address<'i>(
    variables: &mut Variables<'i>,
    host: &'i Host,
    notes: &mut Notes,
) -> (String, String) {
    let node = variables.of(host, &["ip", "access_ip"]);
    let ansible = variables.of(host, &["ansible_host", "ansible_ssh_host"]);
    match (node, ansible) {
        (Some(node), Some(ansible)) if node.value != ansible.value => {
            let text = format!(
                "`{}`: Ansible connects to `{}` at `{}`; casement uses the node address `{}`, if necessary through a bastion",
                ansible.name, host.name, ansible.value, node.value
            );
            notes.not_imported(Some(&ansible.location), text);
            (node.value.clone(), node.origin())
        }
        (Some(setting), _) | (None, Some(setting)) => (setting.value.clone(), setting.origin()),
        (None, None) => (host.name.clone(), format!("host name at {}", host.location)),
    }
}

fn labels<'i>(
    variables: &mut Variables<'i>,
    host: &'i Host,
    notes: &mut Notes,
) -> (Vec<(String, String)>, String) {
    let Some(variable) = variables.variable(host, "node_labels") else {
        return Default::default();
    };
    let pairs = match &variable.value {
        Value::Map(pairs) => pairs.as_slice(),
        _ => &[],
    };
    let valid = pairs.iter().filter_map(|(key, value)| {
        let value = value.scalar()?;
        let fits = key.parse::<LabelKey>().is_ok() && value.parse::<LabelValue>().is_ok();
        fits.then(|| (key.clone(), value))
    });
    let valid: Vec<_> = valid.collect();
    if valid.is_empty() || valid.len() < pairs.len() {
        notes.not_imported(
            Some(&variable.location),
            "`node_labels`: some entries are not valid labels",
        );
    }
    (valid, format!("node_labels at {}", variable.location))
}

fn taints<'i>(
    variables: &mut Variables<'i>,
    host: &'i Host,
    notes: &mut Notes,
) -> (Vec<String>, String) {
    let Some(variable) = variables.variable(host, "node_taints") else {
        return Default::default();
    };
    let items = match &variable.value {
        Value::List(items) => items.as_slice(),
        _ => &[],
    };
    let valid = items.iter().filter_map(Value::scalar);
    let valid: Vec<_> = valid
        .filter(|taint| taint.parse::<Taint>().is_ok())
        .collect();
    if valid.is_empty() || valid.len() < items.len() {
        notes.not_imported(
            Some(&variable.location),
            "`node_taints`: some entries are not valid taints",
        );
    }
    (valid, format!("node_taints at {}", variable.location))
}

pub(super) fn write(yaml: &mut YamlWriter, hosts: &[DraftHost], shared: &SharedLogins) {
    yaml.open("hosts", "");
    for host in hosts {
        yaml.item();
        yaml.text("name", &host.name, &host.location.to_string());
        yaml.text("address", &host.address, &host.address_from);
        let os = if host.windows { "windows" } else { "linux" };
        yaml.text("os", os, &host.windows_reason);
        let roles: Vec<_> = host.roles.iter().map(|role| (*role).to_owned()).collect();
        yaml.list("roles", &roles, "");
        if let Some(setting) = &host.hostname {
            yaml.text("hostname", &node_name(&setting.value), &setting.origin());
        }
        let (labels, origin) = &host.labels;
        if !labels.is_empty() {
            yaml.open("labels", origin);
            for (key, value) in labels {
                yaml.text(key, value, "");
            }
            yaml.close();
        }
        let (taints, origin) = &host.taints;
        if !taints.is_empty() {
            yaml.list("taints", taints, origin);
        }
        host.login.write(yaml, shared);
        yaml.close();
    }
    yaml.close();
}
