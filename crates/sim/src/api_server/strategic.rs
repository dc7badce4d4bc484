//! Strategic merge patches, as `kubectl apply`, `label`, `cordon` and `edit` send them:
//! keyed lists merge item by item, and `$` directives are supported.

use serde_json::{Map, Value};

use super::merge_type::{self, MergeType};

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

pub(super) fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if patch
        .get(PATCH)
        .is_some_and(|directive| directive == "replace")
        || !object.is_object()
    {
        *object = Value::Object(Map::new());
    }
    let Value::Object(fields) = object else {
        return;
    };
    if let Some(Value::Array(retained)) = patch.get(RETAIN) {
        fields.retain(|key, _| retained.iter().any(|retained| retained == key));
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix(DELETE) {
            remove_values(fields.get_mut(list), value);
        } else if !key.starts_with('$') {
            merge_field(fields, key, value);
        }
    }
    for (key, order) in patch {
        if let Some(list) = key.strip_prefix(ORDER)
            && let Some(Value::Array(items)) = fields.get_mut(list)
        {
            sort(items, list, order);
        }
    }
}

fn merge_field(fields: &mut Map<String, Value>, key: &str, value: &Value) {
    match value {
        Value::Null => {
            fields.remove(key);
        }
        Value::Object(patch)
            if patch
                .get(PATCH)
                .is_some_and(|directive| directive == "delete") =>
        {
            fields.remove(key);
        }
        Value::Object(_) => {
            let current = fields.entry(key.to_owned()).or_insert(Value::Null);
            merge(current, value);
        }
        Value::Array(patch) => {
            let current = fields
                .entry(key.to_owned())
                .or_insert_with(|| Value::Array(Vec::new()));
            merge_list(current, key, patch);
        }
        value => {
            fields.insert(key.to_owned(), value.clone());
        }
    }
}

fn merge_list(current: &mut Value, field: &str, patch: &[Value]) {
    let directive = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    let plain: Vec<Value> = patch
        .iter()
        .filter(|item| directive(item).as_deref() != Some("replace"))
        .cloned()
        .collect();
    let replaced = plain.len() < patch.len();
    let merge_type = merge_type::of(field, &Value::Array(plain.clone()));
    match (merge_type, current) {
        (MergeType::Keyed(keys), Value::Array(items)) if !replaced => {
            let key = keys.first().copied().unwrap_or_default();
            for patch in &plain {
                let same = |item: &Value| item.get(key) == patch.get(key);
                if directive(patch).as_deref() == Some("delete") {
                    items.retain(|item| !same(item));
                    continue;
                }
                match items.iter_mut().find(|item| same(item)) {
                    Some(item) => merge(item, patch),
                    None => {
                        let mut item = Value::Null;
                        merge(&mut item, patch);
                        items.push(item);
                    }
                }
            }
        }
        (MergeType::Set, Value::Array(items)) if !replaced => {
            let new = plain.into_iter().filter(|value| !items.contains(value));
            let new: Vec<Value> = new.collect();
            items.extend(new);
        }
        (_, current) => *current = Value::Array(plain),
    }
}

fn remove_values(current: Option<&mut Value>, values: &Value) {
    if let (Some(Value::Array(items)), Value::Array(values)) = (current, values) {
        items.retain(|item| !values.contains(item));
    }
}

/// Items missing in the order keep their relative order at the end.
fn sort(items: &mut [Value], field: &str, order: &Value) {
    let Value::Array(order) = order else {
        return;
    };
    let merge_type = merge_type::of(field, &Value::Array(items.to_vec()));
    let position = |item: &Value| {
        let found = order.iter().position(|expected| match merge_type {
            MergeType::Keyed(keys) => {
                let key = keys.first().copied().unwrap_or_default();
                expected.get(key) == item.get(key)
            }
            _ => expected == item,
        });
        found.unwrap_or(usize::MAX)
    };
    items.sort_by_key(position);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(object: Value, patch: Value) -> Value {
        let mut object = object;
        merge(&mut object, &patch);
        object
    }

    #[test]
    fn containers_are_merged_by_name_ordered_and_deleted() {
        let object = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]});
        let patch = json!({
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [
                {"name": "a", "image": "2"},
                {"name": "b", "$patch": "delete"},
                {"name": "c"},
            ],
        });
        let expected = json!({"containers": [{"name": "c"}, {"name": "a", "image": "2"}]});
        assert_eq!(merged(object, patch), expected);
    }

    #[test]
    fn taints_are_replaced_and_null_removes() {
        let object = json!({"taints": [{"key": "a"}], "labels": {"x": "1", "y": "1"}});
        let patch = json!({"taints": [{"key": "b"}], "labels": {"x": null, "z": "1"}});
        let expected = json!({"taints": [{"key": "b"}], "labels": {"y": "1", "z": "1"}});
        assert_eq!(merged(object, patch), expected);
    }

    #[test]
    fn directives_replace_retain_and_remove_values() {
        let object =
            json!({"a": {"x": 1, "y": 2}, "s": {"x": 1, "y": 2}, "finalizers": ["p", "q"]});
        let patch = json!({
            "a": {"$patch": "replace", "z": 3},
            "s": {"$retainKeys": ["y"]},
            "$deleteFromPrimitiveList/finalizers": ["p"],
            "finalizers": ["r"],
        });
        let expected = json!({"a": {"z": 3}, "s": {"y": 2}, "finalizers": ["q", "r"]});
        assert_eq!(merged(object, patch), expected);
    }
}
