//! All objects, with a revision per write, and the recent history for resuming watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::kinds::Kind;

/// Writes that a watch can be behind.
const HISTORY: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    /// Empty for cluster-scoped objects.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(kind: &'static Kind, namespace: &str, name: &str) -> Self {
        Self {
            group: kind.group,
            plural: kind.plural,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(super) fn is_of(&self, kind: &Kind) -> bool {
        self.group == kind.group && self.plural == kind.plural
    }
}

/// One write, with both states, so that selectors can detect additions and removals.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) revision: u64,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Value>>,
    /// `None` if the object was deleted.
    pub(super) after: Option<Arc<Value>>,
}

pub(super) struct Store {
    objects: BTreeMap<Key, Arc<Value>>,
    revision: u64,
    history: VecDeque<Event>,
    latest: watch::Sender<u64>,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            revision: 1,
            history: VecDeque::new(),
            latest: watch::Sender::new(1),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Objects of a kind, ordered by namespace and name.
    pub(super) fn all(
        &self,
        kind: &'static Kind,
    ) -> impl Iterator<Item = (&Key, &Arc<Value>)> + use<'_> {
        self.objects
            .range(Key::new(kind, "", "")..)
            .take_while(move |(key, _)| key.is_of(kind))
    }

    pub(super) fn everything(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// Stores an object with the next revision in its metadata.
    pub(super) fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        stamp(&mut object, self.revision);
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        self.record(key, before, Some(Arc::clone(&object)));
        object
    }

    /// Removes an object; the removal has its own revision.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        let mut last = Value::clone(&before);
        stamp(&mut last, self.revision);
        let last = Arc::new(last);
        self.record(key.clone(), Some(Arc::clone(&last)), None);
        Some(last)
    }

    fn record(&mut self, key: Key, before: Option<Arc<Value>>, after: Option<Arc<Value>>) {
        self.history.push_back(Event {
            revision: self.revision,
            key,
            before,
            after,
        });
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        self.latest.send_replace(self.revision);
    }

    /// Events after a revision. If it is too old, the error is the oldest revision that can be
    /// resumed from.
    pub(super) fn since(&self, revision: u64) -> Result<impl Iterator<Item = &Event>, u64> {
        let oldest = self
            .history
            .front()
            .map_or(self.revision, |event| event.revision - 1);
        if revision < oldest {
            return Err(oldest);
        }
        let start = self
            .history
            .partition_point(|event| event.revision <= revision);
        Ok(self.history.range(start..))
    }
}

fn stamp(object: &mut Value, revision: u64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(revision.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::by_name;
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(by_name("ConfigMap").unwrap(), "default", name)
    }

    fn object() -> Value {
        json!({"metadata": {}})
    }

    #[test]
    fn every_write_has_a_revision_to_resume_from() {
        let mut store = Store::new();
        let start = store.revision();
        let one = store.put(key("a"), object());
        store.put(key("b"), object());
        store.remove(&key("a")).unwrap();
        assert_eq!(one["metadata"]["resourceVersion"], (start + 1).to_string());
        let events: Vec<_> = store.since(start + 1).unwrap().collect();
        assert_eq!(events.len(), 2);
        assert!(events[1].after.is_none() && events[1].revision == start + 3);
        assert_eq!(store.since(store.revision()).unwrap().count(), 0);
    }

    #[test]
    fn revision_older_than_the_history_is_an_error() {
        let mut store = Store::new();
        for _ in 0..=HISTORY {
            store.put(key("a"), object());
        }
        assert_eq!(store.since(1).err(), Some(2));
        assert_eq!(store.since(2).unwrap().count(), HISTORY);
    }
}
