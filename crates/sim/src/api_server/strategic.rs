//! Strategic merge patches, as `kubectl apply`, `label`, `cordon` and `edit` send
//! them: lists with a key are merged item by item, and `$`-directives are obeyed.

use serde_json::{Map, Value};

use super::shape::{self, Shape};

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

/// Merges a patch into an object.
pub(super) fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if patch.get(PATCH).is_some_and(|word| word == "replace") || !object.is_object() {
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
            take_values(fields.get_mut(list), value);
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
        Value::Object(patch) if patch.get(PATCH).is_some_and(|word| word == "delete") => {
            fields.remove(key);
        }
        Value::Object(_) => {
            let held = fields.entry(key.to_owned()).or_insert(Value::Null);
            merge(held, value);
        }
        Value::Array(patch) => {
            let held = fields
                .entry(key.to_owned())
                .or_insert_with(|| Value::Array(Vec::new()));
            merge_list(held, key, patch);
        }
        value => {
            fields.insert(key.to_owned(), value.clone());
        }
    }
}

fn merge_list(held: &mut Value, field: &str, patch: &[Value]) {
    let words = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    let plain: Vec<Value> = patch
        .iter()
        .filter(|item| words(item).as_deref() != Some("replace"))
        .cloned()
        .collect();
    let replaced = plain.len() < patch.len();
    let shape = shape::of(field, &Value::Array(plain.clone()));
    match (shape, held) {
        (Shape::Keyed(keys), Value::Array(items)) if !replaced => {
            let key = keys.first().copied().unwrap_or_default();
            for patch in &plain {
                let same = |item: &Value| item.get(key) == patch.get(key);
                if words(patch).as_deref() == Some("delete") {
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
        (Shape::Set, Value::Array(items)) if !replaced => {
            let new = plain.into_iter().filter(|value| !items.contains(value));
            let new: Vec<Value> = new.collect();
            items.extend(new);
        }
        (_, held) => *held = Value::Array(plain),
    }
}

fn take_values(held: Option<&mut Value>, values: &Value) {
    if let (Some(Value::Array(items)), Value::Array(values)) = (held, values) {
        items.retain(|item| !values.contains(item));
    }
}

/// Items that the order does not name keep their places behind the others.
fn sort(items: &mut [Value], field: &str, order: &Value) {
    let Value::Array(order) = order else {
        return;
    };
    let shape = shape::of(field, &Value::Array(items.to_vec()));
    let place = |item: &Value| {
        let found = order.iter().position(|wanted| match shape {
            Shape::Keyed(keys) => {
                let key = keys.first().copied().unwrap_or_default();
                wanted.get(key) == item.get(key)
            }
            _ => wanted == item,
        });
        found.unwrap_or(usize::MAX)
    };
    items.sort_by_key(place);
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
        let wanted = json!({"containers": [{"name": "c"}, {"name": "a", "image": "2"}]});
        assert_eq!(merged(object, patch), wanted);
    }

    #[test]
    fn taints_are_replaced_and_null_removes() {
        let object = json!({"taints": [{"key": "a"}], "labels": {"x": "1", "y": "1"}});
        let patch = json!({"taints": [{"key": "b"}], "labels": {"x": null, "z": "1"}});
        let wanted = json!({"taints": [{"key": "b"}], "labels": {"y": "1", "z": "1"}});
        assert_eq!(merged(object, patch), wanted);
    }

    #[test]
    fn directives_replace_retain_and_take_values() {
        let object =
            json!({"a": {"x": 1, "y": 2}, "s": {"x": 1, "y": 2}, "finalizers": ["p", "q"]});
        let patch = json!({
            "a": {"$patch": "replace", "z": 3},
            "s": {"$retainKeys": ["y"]},
            "$deleteFromPrimitiveList/finalizers": ["p"],
            "finalizers": ["r"],
        });
        let wanted = json!({"a": {"z": 3}, "s": {"y": 2}, "finalizers": ["q", "r"]});
        assert_eq!(merged(object, patch), wanted);
    }
}
