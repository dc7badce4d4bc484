//! Server-side apply: an object is merged with what is there, and whoever applied
//! a field owns it.

use serde_json::{Map, Value};

use super::fields::{self, Fields};
use super::managers::{self, Entry, Manager};
use super::refusal::{Cause, Refusal};
use super::shape::{self, Shape};

/// What applying comes to: the object with its managers, before the server's own
/// defaults. Fields that the manager applied earlier and leaves out now are gone,
/// unless somebody else holds them too.
pub(super) fn applied(
    live: &Value,
    wanted: &Value,
    manager: &Manager,
    force: bool,
) -> Result<Value, Refusal> {
    let content = managers::content(wanted);
    let ours = Fields::of(&content, false);
    let mut entries = managers::entries(live);
    let mut result = merged("", live, &content);

    let changed = Fields::changed(&managers::content(live), &managers::content(&result));
    let disputed: Vec<(String, Fields)> = entries
        .iter()
        .filter(|entry| !entry.is(manager, true))
        .map(|entry| (entry.called(), entry.fields.common(&changed).common(&ours)))
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    if !disputed.is_empty() && !force {
        return Err(conflict(disputed));
    }
    for entry in &mut entries {
        if !entry.is(manager, true) {
            entry.fields = entry.fields.minus(&changed.common(&ours));
        }
    }

    let held = |entry: &&Entry| entry.is(manager, true);
    let earlier = entries.iter().find(held).map(|entry| entry.fields.clone());
    let mut kept = ours.clone();
    for entry in entries.iter().filter(|entry| !held(entry)) {
        kept.union(&entry.fields);
    }
    if let Some(earlier) = earlier {
        remove(&mut result, "", &earlier.minus(&kept), &kept);
    }
    let changes = managers::content(&result) != managers::content(live);
    managers::note_apply(&mut entries, manager, &ours, changes);
    managers::set_entries(&mut result, entries);
    Ok(result)
}

fn conflict(mut disputed: Vec<(String, Fields)>) -> Refusal {
    disputed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let causes: Vec<Cause> = disputed
        .iter()
        .flat_map(|(called, fields)| {
            let paths = fields.paths().into_iter();
            paths.map(move |path| Cause::conflict(called, &path))
        })
        .collect();
    let told: Vec<String> = disputed
        .iter()
        .map(|(called, fields)| {
            let paths = fields.paths();
            match paths.as_slice() {
                [one] if causes.len() == 1 => format!("conflict with {called}: {one}"),
                several => format!("conflicts with {called}:\n- {}", several.join("\n- ")),
            }
        })
        .collect();
    let count = match causes.len() {
        1 => "1 conflict".to_owned(),
        several => format!("{several} conflicts"),
    };
    let message = format!("Apply failed with {count}: {}", told.join("\n"));
    Refusal::owned_by_others(message, &causes)
}

fn merged(field: &str, live: &Value, wanted: &Value) -> Value {
    match (shape::of(field, wanted), live, wanted) {
        (Shape::Fields, Value::Object(live), Value::Object(wanted)) => {
            let mut result = live.clone();
            for (key, value) in wanted {
                let value = match live.get(key) {
                    Some(live) => merged(key, live, value),
                    None => value.clone(),
                };
                result.insert(key.clone(), value);
            }
            Value::Object(result)
        }
        (Shape::Keyed(keys), Value::Array(items), Value::Array(wanted_items)) => {
            let key = |item: &Value| shape::key_of(item, keys);
            let mut result: Vec<Value> = items
                .iter()
                .map(|item| match fields::find(wanted, &key(item), keys) {
                    Some(wanted) => merged("", item, wanted),
                    None => item.clone(),
                })
                .collect();
            let new = wanted_items
                .iter()
                .filter(|item| fields::find(live, &key(item), keys).is_none());
            result.extend(new.cloned());
            Value::Array(result)
        }
        (Shape::Set, Value::Array(held), Value::Array(values)) => {
            let mut result = held.clone();
            result.extend(values.iter().filter(|value| !held.contains(value)).cloned());
            Value::Array(result)
        }
        _ => wanted.clone(),
    }
}

/// Takes fields away. Objects that this empties go too, and items that nobody
/// holds anything of.
fn remove(value: &mut Value, field: &str, gone: &Fields, kept: &Fields) {
    let shape = shape::of(field, value);
    let nothing = Fields::default();
    match (shape, value) {
        (Shape::Fields, Value::Object(object)) => {
            for (step, below) in gone.below() {
                let Some(key) = step.strip_prefix("f:") else {
                    continue;
                };
                let kept = kept.at(step).unwrap_or(&nothing);
                let Some(held) = object.get_mut(key) else {
                    continue;
                };
                let leaf = below.is_here() && below.below().next().is_none();
                if leaf && kept.is_empty() {
                    object.remove(key);
                    continue;
                }
                remove(held, key, below, kept);
                if is_empty(held) && kept.is_empty() {
                    object.remove(key);
                }
            }
        }
        (Shape::Keyed(keys), Value::Array(items)) => {
            items.retain_mut(|item| {
                let step = format!("k:{}", shape::key_of(item, keys));
                let Some(below) = gone.at(&step) else {
                    return true;
                };
                match kept.at(&step) {
                    Some(kept) => {
                        remove(item, "", below, kept);
                        true
                    }
                    None => !below.is_here(),
                }
            });
        }
        (Shape::Set, Value::Array(items)) => {
            items.retain(|item| gone.at(&format!("v:{item}")).is_none());
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
    fn what_is_no_longer_applied_goes_unless_somebody_else_holds_it() {
        let live = json!({"metadata": {"name": "x"}});
        let one = manager("one");
        let first = data(json!({"a": "1", "b": "1"}));
        let live = applied(&live, &first, &one, false).unwrap();
        let shared = data(json!({"b": "1"}));
        let live = applied(&live, &shared, &manager("two"), false).unwrap();
        let live = applied(&live, &data(json!({"c": "1"})), &one, false).unwrap();
        assert_eq!(live["data"], json!({"b": "1", "c": "1"}));
        let none = json!({"metadata": {"name": "x"}});
        let live = applied(&live, &none, &one, false).unwrap();
        let live = applied(&live, &none, &manager("two"), false).unwrap();
        assert_eq!(live, none);
    }

    #[test]
    fn a_second_manager_conflicts_and_may_force() {
        let live = json!({"metadata": {"name": "x"}});
        let live = applied(&live, &data(json!({"a": "1"})), &manager("one"), false).unwrap();
        let wanted = data(json!({"a": "2"}));
        let refusal = applied(&live, &wanted, &manager("two"), false).unwrap_err();
        assert_eq!(
            refusal.message,
            "Apply failed with 1 conflict: conflict with \"one\": .data.a"
        );
        let live = applied(&live, &wanted, &manager("two"), true).unwrap();
        assert_eq!(live["data"]["a"], "2");
        assert_eq!(managers::entries(&live).len(), 1);
    }

    #[test]
    fn containers_are_merged_by_name_and_a_list_of_taints_is_replaced() {
        let pod = |containers: Value| json!({"metadata": {}, "spec": {"containers": containers}});
        let live = pod(json!([{"name": "a", "image": "1"}, {"name": "b"}]));
        let wanted = pod(json!([{"name": "a", "image": "2"}, {"name": "c"}]));
        let live = applied(&live, &wanted, &manager("one"), false).unwrap();
        let names = json!([{"name": "a", "image": "2"}, {"name": "b"}, {"name": "c"}]);
        assert_eq!(live["spec"]["containers"], names);
        let less = pod(json!([{"name": "a", "image": "2"}]));
        let live = applied(&live, &less, &manager("one"), false).unwrap();
        let names = json!([{"name": "a", "image": "2"}, {"name": "b"}]);
        assert_eq!(live["spec"]["containers"], names);
        let node = |taint: &str| json!({"metadata": {}, "spec": {"taints": [{"key": taint}]}});
        let tainted = applied(&node("x"), &node("y"), &manager("one"), false).unwrap();
        assert_eq!(tainted["spec"]["taints"], json!([{"key": "y"}]));
    }
}
