//! Formats an inventory like `ansible-inventory --list`.

use std::collections::BTreeMap;

use casement_source::import::ansible::{self, Group, Inventory, Variable};
use serde_json::{Map, Value, json};

/// Internal variables that Ansible does not list.
const INTERNAL: [&str; 4] = ["inventory_dir", "inventory_file", "groups", "group_names"];

fn value(value: &ansible::Value) -> Value {
    match value {
        ansible::Value::Null | ansible::Value::Vault => Value::Null,
        ansible::Value::Bool(truth) => json!(truth),
        ansible::Value::Int(number) => serde_json::from_str(&number.to_string()).unwrap(),
        ansible::Value::Float(number) => json!(number),
        ansible::Value::Text(text) => json!(text),
        ansible::Value::List(items) => items.iter().map(self::value).collect(),
        ansible::Value::Map(pairs) => {
            let pairs = pairs.iter();
            Value::Object(
                pairs
                    .map(|(key, value)| (key.clone(), self::value(value)))
                    .collect(),
            )
        }
    }
}

fn values(variables: BTreeMap<&str, &Variable>) -> Map<String, Value> {
    let pairs = variables
        .into_iter()
        .filter(|(name, _)| !INTERNAL.contains(name));
    pairs
        .map(|(name, variable)| (name.to_owned(), value(&variable.value)))
        .collect()
}

fn listing(inventory: &Inventory, export: bool) -> Value {
    let mut all = Map::new();
    for group in inventory.groups() {
        let entry = entry(inventory, group, export);
        if !entry.is_empty() {
            all.insert(group.name.clone(), Value::Object(entry));
        }
    }
    let mut hosts = Map::new();
    for host in inventory.hosts() {
        let variables = match export {
            true => inventory.host_variables(host),
            false => inventory.variables(host),
        };
        let variables = values(variables);
        if !variables.is_empty() {
            hosts.insert(host.name.clone(), Value::Object(variables));
        }
    }
    all.insert("_meta".to_owned(), json!({"hostvars": hosts}));
    Value::Object(all)
}

fn entry(inventory: &Inventory, group: &Group, export: bool) -> Map<String, Value> {
    let mut entry = Map::new();
    let hosts: Vec<_> = inventory
        .listed(group)
        .map(|host| json!(host.name))
        .collect();
    if group.name != "all" && !hosts.is_empty() {
        entry.insert("hosts".to_owned(), Value::Array(hosts));
    }
    let children: Vec<_> = inventory
        .children(group)
        .map(|child| json!(child.name))
        .collect();
    if !children.is_empty() {
        entry.insert("children".to_owned(), Value::Array(children));
    }
    let mut variables = values(inventory.group_variables(group));
    if group.priority != 1 {
        let priority = serde_json::from_str(&group.priority.to_string()).unwrap();
        variables.insert("ansible_group_priority".to_owned(), priority);
    }
    if export && !variables.is_empty() {
        entry.insert("vars".to_owned(), Value::Object(variables));
    }
    entry
}

/// What `ansible-inventory --list` prints.
pub fn list(inventory: &Inventory) -> Value {
    listing(inventory, false)
}

/// What `ansible-inventory --list --export` prints.
pub fn export(inventory: &Inventory) -> Value {
    listing(inventory, true)
}

/// The first difference between two listings.
pub fn difference(path: &str, ours: &Value, theirs: &Value) -> String {
    if let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) {
        for key in ours.keys().chain(theirs.keys()) {
            let (our, their) = (ours.get(key), theirs.get(key));
            if our != their {
                let nothing = Value::Null;
                return difference(
                    &format!("{path}.{key}"),
                    our.unwrap_or(&nothing),
                    their.unwrap_or(&nothing),
                );
            }
        }
    }
    format!("at {path}\n  ours    {ours}\n  Ansible {theirs}")
}
