//! Server-side apply: merges an object with the live one and records field ownership.

use serde_json::{Map, Value};

use super::fields::{self, FieldSet};
use super::managers::{self, Entry, Manager};
use super::merge_type::{self, MergeType};
use super::status_error::{Cause, StatusError};

/// Returns the merged object with its managers, before defaulting. Fields that the manager
/// applied before and omits now are removed, unless another manager owns them too.
pub(super) fn server_side_apply(
    live: &Value,
    desired: &Value,
    manager: &Manager,
    force: bool,
) -> Result<Value, StatusError> {
    let content = managers::content(desired);
    let ours = FieldSet::of(&content, false);
    let mut entries = managers::entries(live);
    let mut result = merge("", live, &content);

    let changed = FieldSet::changed(&managers::content(live), &managers::content(&result));
    let conflicts: Vec<(String, FieldSet)> = entries
        .iter()
        .filter(|entry| !entry.is(manager, true))
        .map(|entry| {
            (
                entry.display_name(),
                entry.fields.intersection(&changed).intersection(&ours),
            )
        })
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    if !conflicts.is_empty() && !force {
        return Err(conflict(conflicts));
    }
    for entry in &mut entries {
        if !entry.is(manager, true) {
            entry.fields = entry.fields.difference(&changed.intersection(&ours));
        }
    }

    let is_own = |entry: &&Entry| entry.is(manager, true);
    let earlier = entries
        .iter()
        .find(is_own)
        .map(|entry| entry.fields.clone());
    let mut kept = ours.clone();
    for entry in entries.iter().filter(|entry| !is_own(entry)) {
        kept.union(&entry.fields);
    }
    if let Some(earlier) = earlier {
        remove_fields(&mut result, "", &earlier.difference(&kept), &kept);
    }
    let changed_value = managers::content(&result) != managers::content(live);
    managers::record_apply(&mut entries, manager, &ours, changed_value);
    managers::set_entries(&mut result, entries);
    Ok(result)
}

fn conflict(mut conflicts: Vec<(String, FieldSet)>) -> StatusError {
    conflicts.sort_by(|(one, _), (other, _)| one.cmp(other));
    let causes: Vec<Cause> = conflicts
        .iter()
        .flat_map(|(display_name, fields)| {
            let paths = fields.paths().into_iter();
            paths.map(move |path| Cause::conflict(display_name, &path))
        })
        .collect();
    let lines: Vec<String> = conflicts
        .iter()
        .map(|(display_name, fields)| {
            let paths = fields.paths();
            match paths.as_slice() {
                [one] if causes.len() == 1 => format!("conflict with {display_name}: {one}"),
                several => format!("conflicts with {display_name}:\n- {}", several.join("\n- ")),
            }
        })
        .collect();
    let count = match causes.len() {
        1 => "1 conflict".to_owned(),
        several => format!("{several} conflicts"),
    };
    let message = format!("Apply failed with {count}: {}", lines.join("\n"));
    StatusError::apply_conflict(message, &causes)
}

fn merge(field: &str, live: &Value, desired: &Value) -> Value {
    match (merge_type::of(field, desired), live, desired) {
        (MergeType::Granular, Value::Object(live), Value::Object(desired)) => {
            let mut result = live.clone();
            for (key, value) in desired {
                let value = match live.get(key) {
                    Some(live) => merge(key, live, value),
                    None => value.clone(),
                };
                result.insert(key.clone(), value);
            }
            Value::Object(result)
        }
        (MergeType::Keyed(keys), Value::Array(items), Value::Array(desired_items)) => {
            let key = |item: &Value| merge_type::key_of(item, keys);
            let mut result: Vec<Value> = items
                .iter()
                .map(|item| match fields::find(desired, &key(item), keys) {
                    Some(desired) => merge("", item, desired),
                    None => item.clone(),
                })
                .collect();
            let new = desired_items
                .iter()
                .filter(|item| fields::find(live, &key(item), keys).is_none());
            result.extend(new.cloned());
            Value::Array(result)
        }
        (MergeType::Set, Value::Array(items), Value::Array(values)) => {
            let mut result = items.clone();
            result.extend(
                values
                    .iter()
                    .filter(|value| !items.contains(value))
                    .cloned(),
            );
            Value::Array(result)
        }
        _ => desired.clone(),
    }
}

/// Removes fields, objects that become empty, and list items without an owner.
fn remove_fields(value: &mut Value, field: &str, removed: &FieldSet, kept: &FieldSet) {
    let merge_type = merge_type::of(field, value);
    let nothing = FieldSet::default();
    match (merge_type, value) {
        (MergeType::Granular, Value::Object(object)) => {
            for (step, child) in removed.children() {
                let Some(key) = step.strip_prefix("f:") else {
                    continue;
                };
                let kept = kept.child(step).unwrap_or(&nothing);
                let Some(child_value) = object.get_mut(key) else {
                    continue;
                };
                let leaf = child.is_member() && child.children().next().is_none();
                if leaf && kept.is_empty() {
                    object.remove(key);
                    continue;
                }
                remove_fields(child_value, key, child, kept);
                if is_empty(child_value) && kept.is_empty() {
                    object.remove(key);
                }
            }
        }
        (MergeType::Keyed(keys), Value::Array(items)) => {
            items.retain_mut(|item| {
                let step = format!("k:{}", merge_type::key_of(item, keys));
                let Some(child) = removed.child(&step) else {
                    return true;
                };
                match kept.child(&step) {
                    Some(kept) => {
                        remove_fields(item, "", child, kept);
                        true
                    }
                    None => !child.is_member(),
                }
            });
        }
        (MergeType::Set, Value::Array(items)) => {
            items.retain(|item| removed.child(&format!("v:{item}")).is_none());
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => Map::is_empty(object),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manager(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: String::new(),
            api_version: "v1".to_owned(),
        }
    }

    fn data(data: Value) -> Value {
        json!({"metadata": {"name": "x"}, "data": data})
    }

    #[test]
    fn omitted_field_is_removed_unless_another_manager_owns_it() {
        let live = json!({"metadata": {"name": "x"}});
        let one = manager("one");
        let first = data(json!({"a": "1", "b": "1"}));
        let live = server_side_apply(&live, &first, &one, false).unwrap();
        let shared = data(json!({"b": "1"}));
        let live = server_side_apply(&live, &shared, &manager("two"), false).unwrap();
        let live = server_side_apply(&live, &data(json!({"c": "1"})), &one, false).unwrap();
        assert_eq!(live["data"], json!({"b": "1", "c": "1"}));
        let none = json!({"metadata": {"name": "x"}});
        let live = server_side_apply(&live, &none, &one, false).unwrap();
        let live = server_side_apply(&live, &none, &manager("two"), false).unwrap();
        assert_eq!(live, none);
    }

    #[test]
    fn second_manager_conflicts_unless_forced() {
        let live = json!({"metadata": {"name": "x"}});
        let live =
            server_side_apply(&live, &data(json!({"a": "1"})), &manager("one"), false).unwrap();
        let desired = data(json!({"a": "2"}));
        let status_error = server_side_apply(&live, &desired, &manager("two"), false).unwrap_err();
        assert_eq!(
            status_error.message,
            "Apply failed with 1 conflict: conflict with \"one\": .data.a"
        );
        let live = server_side_apply(&live, &desired, &manager("two"), true).unwrap();
        assert_eq!(live["data"]["a"], "2");
        assert_eq!(managers::entries(&live).len(), 1);
    }

    #[test]
    fn containers_merge_by_name_and_taints_are_replaced() {
        let pod = |containers: Value| json!({"metadata": {}, "spec": {"containers": containers}});
        let live = pod(json!([{"name": "a", "image": "1"}, {"name": "b"}]));
        let desired = pod(json!([{"name": "a", "image": "2"}, {"name": "c"}]));
        let live = server_side_apply(&live, &desired, &manager("one"), false).unwrap();
        let names = json!([{"name": "a", "image": "2"}, {"name": "b"}, {"name": "c"}]);
        assert_eq!(live["spec"]["containers"], names);
        let less = pod(json!([{"name": "a", "image": "2"}]));
        let live = server_side_apply(&live, &less, &manager("one"), false).unwrap();
        let names = json!([{"name": "a", "image": "2"}, {"name": "b"}]);
        assert_eq!(live["spec"]["containers"], names);
        let node = |taint: &str| json!({"metadata": {}, "spec": {"taints": [{"key": taint}]}});
        let tainted = server_side_apply(&node("x"), &node("y"), &manager("one"), false).unwrap();
        assert_eq!(tainted["spec"]["taints"], json!([{"key": "y"}]));
    }
}
