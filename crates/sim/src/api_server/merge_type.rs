//! Which lists are merged by key and which values are replaced whole, in
//! server-side apply and in strategic merge patches.
//!
//! By the name of the field: among the kinds that are served, a name has one
//! shape, but for the ports of containers and of Services, which their items tell.

use serde_json::{Value, json};

/// How a value is owned and merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// As a whole.
    Atomic,
    /// Field by field.
    Fields,
    /// Item by item, told apart by these fields; the second is for server-side
    /// apply only.
    Keyed(&'static [&'static str]),
    /// Value by value.
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

/// The shape of a field's value.
pub(super) fn of(field: &str, value: &Value) -> Shape {
    match value {
        Value::Object(_) if ATOMIC_OBJECTS.contains(&field) => Shape::Atomic,
        Value::Object(_) => Shape::Fields,
        Value::Array(_) if SETS.contains(&field) => Shape::Set,
        Value::Array(items) if field == "ports" => ports(items),
        Value::Array(items) => {
            let known = KEYED.iter().find(|(name, _)| *name == field);
            match known {
                Some((_, keys)) if has_keys(items, keys) => Shape::Keyed(keys),
                _ => Shape::Atomic,
            }
        }
        _ => Shape::Atomic,
    }
}

fn ports(items: &[Value]) -> Shape {
    const CONTAINER: &[&str] = &["containerPort", "protocol"];
    const SERVICE: &[&str] = &["port", "protocol"];
    let has = |key: &'static str| items.iter().all(|item| item.get(key).is_some());
    match () {
        () if has("containerPort") => Shape::Keyed(CONTAINER),
        () if has("port") => Shape::Keyed(SERVICE),
        () => Shape::Atomic,
    }
}

/// An item without its key cannot be told apart: then the list is one value.
fn has_keys(items: &[Value], keys: &[&str]) -> bool {
    let first = keys.first().copied().unwrap_or_default();
    items.iter().all(|item| item.get(first).is_some())
}

/// What tells an item apart.
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
    fn ports_are_told_by_their_items() {
        let port = json!([{"port": 80}]);
        assert_eq!(of("ports", &port), Shape::Keyed(&["port", "protocol"]));
        let keys = key_of(
            &json!({"containerPort": 80}),
            &["containerPort", "protocol"],
        );
        assert_eq!(keys, json!({"containerPort": 80, "protocol": "TCP"}));
        assert_eq!(of("ports", &json!([{"name": "x"}])), Shape::Atomic);
    }

    #[test]
    fn an_item_without_its_key_makes_the_list_one_value() {
        assert_eq!(of("containers", &json!([{"image": "x"}])), Shape::Atomic);
        assert_eq!(of("taints", &json!([{"key": "x"}])), Shape::Atomic);
    }
}
