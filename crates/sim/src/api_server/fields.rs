//! Sets of fields, as stored in `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::merge_type::{self, MergeType};

/// A set of fields: `f:name` for fields, `k:{…}` for items, `v:…` for values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    /// Whether this path itself is in the set.
    is_member: bool,
    children: BTreeMap<String, FieldSet>,
}

/// Objects that always exist and are therefore never owned themselves.
const ALWAYS: &[&str] = &[
    "containers",
    "metadata",
    "spec",
    "status",
    "strategy",
    "template",
    "updateStrategy",
];

impl FieldSet {
    /// All fields of a value; with `include_parents`, their parent objects as well.
    pub(super) fn of(value: &Value, include_parents: bool) -> Self {
        Self::diff(None, value, "", include_parents)
    }

    /// The fields of `new` that are missing in `old` or differ.
    pub(super) fn changed(old: &Value, new: &Value) -> Self {
        Self::diff(Some(old), new, "", true)
    }

    fn diff(old: Option<&Value>, new: &Value, field: &str, include_parents: bool) -> Self {
        let mut set = Self::default();
        let new_parent =
            old.is_none() && include_parents && !field.is_empty() && !ALWAYS.contains(&field);
        match merge_type::of(field, new) {
            MergeType::Atomic => set.is_member = old != Some(new),
            MergeType::Granular => {
                let fields = new.as_object();
                for (key, value) in fields.into_iter().flatten() {
                    let old = old.and_then(|old| old.get(key));
                    set.insert(
                        format!("f:{key}"),
                        Self::diff(old, value, key, include_parents),
                    );
                }
                let empty = fields.is_some_and(Map::is_empty);
                set.is_member = new_parent || (empty && old.is_none() && !field.is_empty());
            }
            MergeType::Keyed(keys) => {
                for item in new.as_array().into_iter().flatten() {
                    let key = merge_type::key_of(item, keys);
                    let old = old.and_then(|old| find(old, &key, keys));
                    let mut child = Self::diff(old, item, "", include_parents);
                    child.is_member = old.is_none();
                    set.insert(format!("k:{key}"), child);
                }
                set.is_member = new_parent;
            }
            MergeType::Set => {
                for value in new.as_array().into_iter().flatten() {
                    let old_values = old.and_then(Value::as_array);
                    let child = Self {
                        is_member: !old_values.is_some_and(|values| values.contains(value)),
                        ..Self::default()
                    };
                    set.insert(format!("v:{value}"), child);
                }
                set.is_member = new_parent;
            }
        }
        set
    }

    fn insert(&mut self, step: String, child: Self) {
        if !child.is_empty() {
            self.children.insert(step, child);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_member && self.children.is_empty()
    }

    pub(super) fn is_member(&self) -> bool {
        self.is_member
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.children.iter().map(|(step, set)| (step.as_str(), set))
    }

    pub(super) fn child(&self, step: &str) -> Option<&Self> {
        self.children.get(step)
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.is_member |= other.is_member;
        for (step, set) in &other.children {
            self.children.entry(step.clone()).or_default().union(set);
        }
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |this, other| this && !other, true)
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |this, other| this && other, false)
    }

    fn combine(
        &self,
        other: &Self,
        is_member: fn(bool, bool) -> bool,
        keep_unmatched: bool,
    ) -> Self {
        let mut set = Self {
            is_member: is_member(self.is_member, other.is_member),
            children: BTreeMap::new(),
        };
        for (step, this) in &self.children {
            match other.children.get(step) {
                Some(other) => {
                    set.insert(step.clone(), this.combine(other, is_member, keep_unmatched))
                }
                None if keep_unmatched => set.insert(step.clone(), this.clone()),
                None => {}
            }
        }
        set
    }

    pub(super) fn to_fields_v1(&self) -> Value {
        let mut object = Map::new();
        if self.is_member && !self.children.is_empty() {
            object.insert(".".to_owned(), json!({}));
        }
        for (step, set) in &self.children {
            object.insert(step.clone(), set.to_fields_v1());
        }
        Value::Object(object)
    }

    pub(super) fn from_fields_v1(value: &Value) -> Self {
        let object = value.as_object();
        let mut set = Self::default();
        for (step, value) in object.into_iter().flatten() {
            match step.as_str() {
                "." => set.is_member = true,
                _ => {
                    set.children
                        .insert(step.clone(), Self::child_from_fields_v1(value));
                }
            }
        }
        set
    }

    fn child_from_fields_v1(value: &Value) -> Self {
        let mut set = Self::from_fields_v1(value);
        set.is_member |= value.as_object().is_some_and(Map::is_empty);
        set
    }

    /// Every path as in error messages (`.spec.containers[name="c"].image`).
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, path: &str, paths: &mut Vec<String>) {
        if self.is_member {
            paths.push(path.to_owned());
        }
        for (step, set) in &self.children {
            let step = match step.split_once(':') {
                Some(("f", name)) => format!(".{name}"),
                Some(("v", value)) => format!("[={value}]"),
                Some((_, key)) => format!("[{}]", pairs(key)),
                None => step.clone(),
            };
            set.collect_paths(&format!("{path}{step}"), paths);
        }
    }
}

pub(super) fn find<'a>(list: &'a Value, key: &Value, keys: &[&str]) -> Option<&'a Value> {
    let mut items = list.as_array()?.iter();
    items.find(|item| merge_type::key_of(item, keys) == *key)
}

fn pairs(key: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_v1_round_trips() {
        let object = json!({"metadata": {"labels": {"a": "1"}, "finalizers": ["x"]}, "spec": {
            "containers": [{"name": "c", "ports": [{"containerPort": 80}]}],
            "tolerations": [{"operator": "Exists"}]}});
        let set = FieldSet::of(&object, true);
        let expected = json!({
            "f:metadata": {
                "f:finalizers": {".": {}, "v:\"x\"": {}},
                "f:labels": {".": {}, "f:a": {}},
            },
            "f:spec": {
                "f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {},
                    "f:name": {},
                    "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                        ".": {}, "f:containerPort": {},
                    }},
                }},
                "f:tolerations": {},
            },
        });
        assert_eq!(set.to_fields_v1(), expected);
        assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()), set);
    }

    #[test]
    fn changed_has_only_differing_fields() {
        let old = json!({"data": {"a": "1", "b": "2"}});
        let new = json!({"data": {"a": "1", "b": "3", "c": "4"}});
        let changed = FieldSet::changed(&old, &new);
        assert_eq!(changed.paths(), [".data.b", ".data.c"]);
        let both = FieldSet::of(&old, false);
        assert_eq!(changed.intersection(&both).paths(), [".data.b"]);
        assert_eq!(both.difference(&changed).paths(), [".data.a"]);
    }

    #[test]
    fn list_items_are_named_by_their_keys() {
        let object = json!({"spec": {"containers": [{"name": "c", "image": "x"}]}});
        let set = FieldSet::of(&object, false);
        let expected = [
            ".spec.containers[name=\"c\"]",
            ".spec.containers[name=\"c\"].image",
            ".spec.containers[name=\"c\"].name",
        ];
        assert_eq!(set.paths(), expected);
    }
}
