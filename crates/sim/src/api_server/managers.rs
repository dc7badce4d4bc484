//! `metadata.managedFields`: which manager updated or applied which field.

use serde_json::{Map, Value, json};

use super::fields::FieldSet;
use super::time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) subresource: String,
    pub(super) api_version: String,
}

/// Fields of one manager and operation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    manager: Manager,
    applied: bool,
    time: String,
    pub(super) fields: FieldSet,
}

impl Entry {
    pub(super) fn is(&self, manager: &Manager, applied: bool) -> bool {
        self.manager == *manager && self.applied == applied
    }

    pub(super) fn display_name(&self) -> String {
        let Manager {
            name,
            subresource,
            api_version,
        } = &self.manager;
        let mut text = format!("\"{name}\"");
        if !subresource.is_empty() {
            text.push_str(&format!(" with subresource \"{subresource}\""));
        }
        if !self.applied {
            text.push_str(&format!(" using {api_version}"));
        }
        text
    }

    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            manager: Manager {
                name: text("manager"),
                subresource: text("subresource"),
                api_version: text("apiVersion"),
            },
            applied: text("operation") == "Apply",
            time: text("time"),
            fields: FieldSet::from_fields_v1(&value["fieldsV1"]),
        }
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "manager": self.manager.name,
            "operation": if self.applied { "Apply" } else { "Update" },
            "apiVersion": self.manager.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_fields_v1(),
        });
        if let (false, Some(fields)) = (self.manager.subresource.is_empty(), value.as_object_mut())
        {
            fields.insert("subresource".to_owned(), json!(self.manager.subresource));
        }
        if let (false, Some(fields)) = (self.time.is_empty(), value.as_object_mut()) {
            fields.insert("time".to_owned(), json!(self.time));
        }
        value
    }
}

pub(super) fn entries(object: &Value) -> Vec<Entry> {
    let list = object["metadata"]["managedFields"].as_array();
    list.into_iter().flatten().map(Entry::read).collect()
}

/// Writes the entries into an object, without those that own nothing.
pub(super) fn set_entries(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|one, other| {
        let order = |entry: &Entry| (!entry.applied, entry.time.clone());
        order(one)
            .cmp(&order(other))
            .then_with(|| one.manager.name.cmp(&other.manager.name))
    });
    let list: Vec<Value> = entries.iter().map(Entry::to_json).collect();
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match list.is_empty() {
        true => metadata.remove("managedFields"),
        false => metadata.insert("managedFields".to_owned(), Value::Array(list)),
    };
}

/// Records a create, update or patch: the manager becomes the only owner of changed fields;
/// removed fields lose their owners.
pub(super) fn record_update(old: Option<&Value>, new: &mut Value, manager: &Manager) {
    // A real server records no managers for these either.
    if new["kind"] == "CertificateSigningRequest" {
        return;
    }
    let before = old.map(content).unwrap_or_else(|| json!({}));
    let after = content(new);
    let changed = FieldSet::changed(&before, &after);
    let removed = FieldSet::of(&before, true).difference(&FieldSet::of(&after, true));
    let mut entries = old.map(entries).unwrap_or_default();
    if changed.is_empty() && removed.is_empty() {
        set_entries(new, entries);
        return;
    }
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&removed);
        if !entry.is(manager, false) {
            entry.fields = entry.fields.difference(&changed);
        }
    }
    let now = time::now();
    match entries.iter_mut().find(|entry| entry.is(manager, false)) {
        Some(entry) => {
            entry.fields.union(&changed);
            entry.time = now;
        }
        None => entries.push(Entry {
            manager: manager.clone(),
            applied: false,
            time: now,
            fields: changed,
        }),
    }
    set_entries(new, entries);
}

/// Records an apply. One that changes no value keeps its time.
pub(super) fn record_apply(
    entries: &mut Vec<Entry>,
    manager: &Manager,
    fields: &FieldSet,
    changed_value: bool,
) {
    let index = entries.iter().position(|entry| entry.is(manager, true));
    let before = index.map(|index| entries.remove(index).time);
    entries.push(Entry {
        manager: manager.clone(),
        applied: true,
        time: match changed_value {
            true => time::now(),
            false => before.unwrap_or_default(),
        },
        fields: fields.clone(),
    });
}

/// The fields that can be owned: not identity, and not server-managed metadata.
pub(super) fn content(object: &Value) -> Value {
    let mut content = object.as_object().cloned().unwrap_or_default();
    content.remove("apiVersion");
    content.remove("kind");
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "managedFields",
        ] {
            metadata.remove(field);
        }
        if metadata.is_empty() {
            content.remove("metadata");
        }
    }
    drop_empty(&mut content, "status");
    Value::Object(content)
}

fn drop_empty(object: &mut Map<String, Value>, key: &str) {
    let empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    if object.get(key).is_some_and(empty) {
        object.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: String::new(),
            api_version: "v1".to_owned(),
        }
    }

    fn owned(object: &Value, name: &str) -> Vec<String> {
        let entries = entries(object);
        let mut entries = entries.iter().filter(|entry| entry.manager.name == name);
        entries
            .next()
            .map(|entry| entry.fields.paths())
            .unwrap_or_default()
    }

    #[test]
    fn changed_field_gets_a_new_owner_and_removed_field_none() {
        let mut first = json!({"metadata": {"name": "x"}, "data": {"a": "1", "b": "1"}});
        record_update(None, &mut first, &manager("one"));
        assert_eq!(owned(&first, "one"), [".data", ".data.a", ".data.b"]);
        let mut second = first.clone();
        second["data"] = json!({"a": "2"});
        record_update(Some(&first), &mut second, &manager("two"));
        assert_eq!(owned(&second, "one"), [".data"]);
        assert_eq!(owned(&second, "two"), [".data.a"]);
        let mut same = second.clone();
        record_update(Some(&second), &mut same, &manager("three"));
        assert_eq!(same, second);
    }
}
