//! Sets of fields, as `metadata.managedFields` writes them down.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::shape::{self, Shape};

/// A set of fields: `f:name` for fields, `k:{…}` for items, `v:…` for values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// Whether this very place is in the set.
    here: bool,
    below: BTreeMap<String, Fields>,
}

/// Objects that are always there, and so never owned themselves.
const ALWAYS: &[&str] = &[
    "containers",
    "metadata",
    "spec",
    "status",
    "strategy",
    "template",
    "updateStrategy",
];

impl Fields {
    /// All fields of a value. With `places`, the objects that hold them too.
    pub(super) fn of(value: &Value, places: bool) -> Self {
        Self::differing(None, value, "", places)
    }

    /// The fields of `new` that `old` does not hold as they are.
    pub(super) fn changed(old: &Value, new: &Value) -> Self {
        Self::differing(Some(old), new, "", true)
    }

    fn differing(old: Option<&Value>, new: &Value, field: &str, places: bool) -> Self {
        let mut set = Self::default();
        let fresh = old.is_none() && places && !field.is_empty() && !ALWAYS.contains(&field);
        match shape::of(field, new) {
            Shape::Atomic => set.here = old != Some(new),
            Shape::Fields => {
                let fields = new.as_object();
                for (key, value) in fields.into_iter().flatten() {
                    let old = old.and_then(|old| old.get(key));
                    set.insert(format!("f:{key}"), Self::differing(old, value, key, places));
                }
                let empty = fields.is_some_and(Map::is_empty);
                set.here = fresh || (empty && old.is_none() && !field.is_empty());
            }
            Shape::Keyed(keys) => {
                for item in new.as_array().into_iter().flatten() {
                    let key = shape::key_of(item, keys);
                    let old = old.and_then(|old| find(old, &key, keys));
                    let mut below = Self::differing(old, item, "", places);
                    below.here = old.is_none();
                    set.insert(format!("k:{key}"), below);
                }
                set.here = fresh;
            }
            Shape::Set => {
                for value in new.as_array().into_iter().flatten() {
                    let held = old.and_then(Value::as_array);
                    let below = Self {
                        here: !held.is_some_and(|held| held.contains(value)),
                        ..Self::default()
                    };
                    set.insert(format!("v:{value}"), below);
                }
                set.here = fresh;
            }
        }
        set
    }

    fn insert(&mut self, step: String, below: Self) {
        if !below.is_empty() {
            self.below.insert(step, below);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.here && self.below.is_empty()
    }

    /// Whether this very place is in the set.
    pub(super) fn is_here(&self) -> bool {
        self.here
    }

    pub(super) fn below(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.below.iter().map(|(step, set)| (step.as_str(), set))
    }

    pub(super) fn at(&self, step: &str) -> Option<&Self> {
        self.below.get(step)
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.here |= other.here;
        for (step, set) in &other.below {
            self.below.entry(step.clone()).or_default().union(set);
        }
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        self.combined(other, |own, other| own && !other, true)
    }

    pub(super) fn common(&self, other: &Self) -> Self {
        self.combined(other, |own, other| own && other, false)
    }

    fn combined(&self, other: &Self, here: fn(bool, bool) -> bool, alone: bool) -> Self {
        let mut set = Self {
            here: here(self.here, other.here),
            below: BTreeMap::new(),
        };
        for (step, own) in &self.below {
            match other.below.get(step) {
                Some(other) => set.insert(step.clone(), own.combined(other, here, alone)),
                None if alone => set.insert(step.clone(), own.clone()),
                None => {}
            }
        }
        set
    }

    /// As FieldsV1.
    pub(super) fn written(&self) -> Value {
        let mut object = Map::new();
        if self.here && !self.below.is_empty() {
            object.insert(".".to_owned(), json!({}));
        }
        for (step, set) in &self.below {
            object.insert(step.clone(), set.written());
        }
        Value::Object(object)
    }

    /// From FieldsV1.
    pub(super) fn read(value: &Value) -> Self {
        let object = value.as_object();
        let mut set = Self::default();
        for (step, value) in object.into_iter().flatten() {
            match step.as_str() {
                "." => set.here = true,
                _ => {
                    set.below.insert(step.clone(), Self::read_below(value));
                }
            }
        }
        set
    }

    fn read_below(value: &Value) -> Self {
        let mut set = Self::read(value);
        set.here |= value.as_object().is_some_and(Map::is_empty);
        set
    }

    /// Every place, as errors name it (`.spec.containers[name="c"].image`).
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("", &mut paths);
        paths
    }

    fn collect(&self, path: &str, paths: &mut Vec<String>) {
        if self.here {
            paths.push(path.to_owned());
        }
        for (step, set) in &self.below {
            let step = match step.split_once(':') {
                Some(("f", name)) => format!(".{name}"),
                Some(("v", value)) => format!("[={value}]"),
                Some((_, key)) => format!("[{}]", pairs(key)),
                None => step.clone(),
            };
            set.collect(&format!("{path}{step}"), paths);
        }
    }
}

/// The item of that key.
pub(super) fn find<'a>(list: &'a Value, key: &Value, keys: &[&str]) -> Option<&'a Value> {
    let mut items = list.as_array()?.iter();
    items.find(|item| shape::key_of(item, keys) == *key)
}

fn pairs(key: &str) -> String {
    let read: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
    let pairs: Vec<String> = read
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let object = json!({"metadata": {"labels": {"a": "1"}, "finalizers": ["x"]}, "spec": {
            "containers": [{"name": "c", "ports": [{"containerPort": 80}]}],
            "tolerations": [{"operator": "Exists"}]}});
        let set = Fields::of(&object, true);
        let wanted = json!({
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
        assert_eq!(set.written(), wanted);
        assert_eq!(Fields::read(&set.written()), set);
    }

    #[test]
    fn only_what_differs_is_changed() {
        let old = json!({"data": {"a": "1", "b": "2"}});
        let new = json!({"data": {"a": "1", "b": "3", "c": "4"}});
        let changed = Fields::changed(&old, &new);
        assert_eq!(changed.paths(), [".data.b", ".data.c"]);
        let both = Fields::of(&old, false);
        assert_eq!(changed.common(&both).paths(), [".data.b"]);
        assert_eq!(both.minus(&changed).paths(), [".data.a"]);
    }

    #[test]
    fn items_are_named_by_their_keys() {
        let object = json!({"spec": {"containers": [{"name": "c", "image": "x"}]}});
        let set = Fields::of(&object, false);
        let wanted = [
            ".spec.containers[name=\"c\"]",
            ".spec.containers[name=\"c\"].image",
            ".spec.containers[name=\"c\"].name",
        ];
        assert_eq!(set.paths(), wanted);
    }
}
