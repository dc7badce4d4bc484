//! How values merge in server-side apply and strategic merge patches: which lists merge by
//! key and which values are atomic.
//!
//! Decided by field name, which is unambiguous among the served kinds except for the ports
//! of containers and Services; their items tell them apart.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeType {
    /// Replaced as a whole.
    Atomic,
    /// Merged field by field.
    Granular,
    /// Merged item by item, identified by these fields; only server-side apply uses the
    /// second one.
    Keyed(&'static [&'static str]),
    /// Merged value by value.
    Set,
}

const ATOMIC_OBJECTS: &[&str] = &[
    "claimRef",
    "configMapKeyRef",
    "fieldRef",
    "fieldsV1",
    "involvedObject",
    "nodeSelector",
    "related",
    "resourceFieldRef",
    "roleRef",
    "secretKeyRef",
    "selector",
];

const KEYED: &[(&str, &[&str])] = &[
    ("addresses", &["type"]),
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ownerReferences", &["uid"]),
    ("secrets", &["name"]),
    (
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
];

const SETS: &[&str] = &["finalizers", "podCIDRs"];

pub(super) fn of(field: &str, value: &Value) -> MergeType {
    match value {
        Value::Object(_) if ATOMIC_OBJECTS.contains(&field) => MergeType::Atomic,
        Value::Object(_) => MergeType::Granular,
        Value::Array(_) if SETS.contains(&field) => MergeType::Set,
        Value::Array(items) if field == "ports" => ports(items),
        Value::Array(items) => {
            let entry = KEYED.iter().find(|(name, _)| *name == field);
            match entry {
                Some((_, keys)) if has_keys(items, keys) => MergeType::Keyed(keys),
                _ => MergeType::Atomic,
            }
        }
        _ => MergeType::Atomic,
    }
}

fn ports(items: &[Value]) -> MergeType {
    const CONTAINER: &[&str] = &["containerPort", "protocol"];
    const SERVICE: &[&str] = &["port", "protocol"];
    let has = |key: &'static str| items.iter().all(|item| item.get(key).is_some());
    match () {
        () if has("containerPort") => MergeType::Keyed(CONTAINER),
        () if has("port") => MergeType::Keyed(SERVICE),
        () => MergeType::Atomic,
    }
}

/// A list with an item without its key is atomic.
fn has_keys(items: &[Value], keys: &[&str]) -> bool {
    let first = keys.first().copied().unwrap_or_default();
    items.iter().all(|item| item.get(first).is_some())
}

pub(super) fn key_of(item: &Value, keys: &[&str]) -> Value {
    let pairs = keys.iter().map(|key| {
        let value = match item.get(key) {
            Some(value) => value.clone(),
            None if *key == "protocol" => json!("TCP"),
            None => Value::Null,
        };
        ((*key).to_owned(), value)
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_lists_are_distinguished_by_their_items() {
        let port = json!([{"port": 80}]);
        assert_eq!(of("ports", &port), MergeType::Keyed(&["port", "protocol"]));
        let keys = key_of(
            &json!({"containerPort": 80}),
            &["containerPort", "protocol"],
        );
        assert_eq!(keys, json!({"containerPort": 80, "protocol": "TCP"}));
        assert_eq!(of("ports", &json!([{"name": "x"}])), MergeType::Atomic);
    }

    #[test]
    fn list_with_an_item_without_key_is_atomic() {
        assert_eq!(
            of("containers", &json!([{"image": "x"}])),
            MergeType::Atomic
        );
        assert_eq!(of("taints", &json!([{"key": "x"}])), MergeType::Atomic);
    }
}
