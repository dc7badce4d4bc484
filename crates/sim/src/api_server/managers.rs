//! `metadata.managedFields`: who wrote which field last, and who applied it.

use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::time;

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) subresource: String,
    pub(super) api_version: String,
}

/// What one manager has written in one way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    manager: Manager,
    applied: bool,
    time: String,
    pub(super) fields: Fields,
}

impl Entry {
    pub(super) fn is(&self, manager: &Manager, applied: bool) -> bool {
        self.manager == *manager && self.applied == applied
    }

    /// As conflicts name it.
    pub(super) fn called(&self) -> String {
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
            fields: Fields::read(&value["fieldsV1"]),
        }
    }

    fn written(&self) -> Value {
        let mut value = json!({
            "manager": self.manager.name,
            "operation": if self.applied { "Apply" } else { "Update" },
            "apiVersion": self.manager.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.written(),
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

/// The entries of an object.
pub(super) fn entries(object: &Value) -> Vec<Entry> {
    let list = object["metadata"]["managedFields"].as_array();
    list.into_iter().flatten().map(Entry::read).collect()
}

/// Writes the entries into an object; those that own nothing go.
pub(super) fn set_entries(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|one, other| {
        let order = |entry: &Entry| (!entry.applied, entry.time.clone());
        order(one)
            .cmp(&order(other))
            .then_with(|| one.manager.name.cmp(&other.manager.name))
    });
    let list: Vec<Value> = entries.iter().map(Entry::written).collect();
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match list.is_empty() {
        true => metadata.remove("managedFields"),
        false => metadata.insert("managedFields".to_owned(), Value::Array(list)),
    };
}

/// Notes a create, an update or a patch: what it changed is the manager's now, and
/// nobody else's; what it removed is nobody's.
pub(super) fn note_update(old: Option<&Value>, new: &mut Value, manager: &Manager) {
    // Of these a real server keeps no notes either.
    if new["kind"] == "CertificateSigningRequest" {
        return;
    }
    let before = old.map(content).unwrap_or_else(|| json!({}));
    let after = content(new);
    let changed = Fields::changed(&before, &after);
    let gone = Fields::of(&before, true).minus(&Fields::of(&after, true));
    let mut entries = old.map(entries).unwrap_or_default();
    if changed.is_empty() && gone.is_empty() {
        set_entries(new, entries);
        return;
    }
    for entry in &mut entries {
        entry.fields = entry.fields.minus(&gone);
        if !entry.is(manager, false) {
            entry.fields = entry.fields.minus(&changed);
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

/// Notes what a manager applies. An apply that changes no value is not dated.
pub(super) fn note_apply(
    entries: &mut Vec<Entry>,
    manager: &Manager,
    fields: &Fields,
    changes: bool,
) {
    let at = entries.iter().position(|entry| entry.is(manager, true));
    let before = at.map(|at| entries.remove(at).time);
    entries.push(Entry {
        manager: manager.clone(),
        applied: true,
        time: match changes {
            true => time::now(),
            false => before.unwrap_or_default(),
        },
        fields: fields.clone(),
    });
}

/// What can be owned of an object: not what names it or what the server keeps.
pub(super) fn content(object: &Value) -> Value {
    let mut content = object.as_object().cloned().unwrap_or_default();
    content.remove("apiVersion");
    content.remove("kind");
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        for kept in [
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
            metadata.remove(kept);
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
    fn a_changed_field_changes_hands_and_a_removed_one_is_nobodys() {
        let mut first = json!({"metadata": {"name": "x"}, "data": {"a": "1", "b": "1"}});
        note_update(None, &mut first, &manager("one"));
        assert_eq!(owned(&first, "one"), [".data", ".data.a", ".data.b"]);
        let mut second = first.clone();
        second["data"] = json!({"a": "2"});
        note_update(Some(&first), &mut second, &manager("two"));
        assert_eq!(owned(&second, "one"), [".data"]);
        assert_eq!(owned(&second, "two"), [".data.a"]);
        let mut same = second.clone();
        note_update(Some(&second), &mut same, &manager("three"));
        assert_eq!(same, second);
    }
}
