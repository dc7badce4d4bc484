//! Secrets: in memory only, until they are used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_resource::{Secret, SecretName};

use crate::engine::SecretSource;

/// What was sent, until it is used.
#[derive(Debug, Default)]
pub(super) struct Store {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    values: BTreeMap<SecretName, Secret>,
    /// Since when a run waits for one that has not come.
    wanted_since: Option<Instant>,
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, values: BTreeMap<SecretName, Secret>) {
        self.lock().values.extend(values);
        self.changed.notify_all();
    }

    /// Forgets all: what was meant for one run must not reach the next.
    pub(super) fn clear(&self) {
        self.lock().values.clear();
    }

    /// For how long a run has waited in vain so far.
    pub(super) fn waited(&self) -> Option<Duration> {
        self.lock().wanted_since.map(|since| since.elapsed())
    }

    /// Wakes those who wait, so that they see that they should stop.
    pub(super) fn wake(&self) {
        // With the lock, so that nobody is between looking and waiting.
        drop(self.lock());
        self.changed.notify_all();
    }
}

/// The store as one run sees it.
pub(super) struct ForRun<'a> {
    pub(super) store: &'a Store,
    pub(super) stop: &'a AtomicBool,
}

impl SecretSource for ForRun<'_> {
    fn get(&self, name: &SecretName) -> Option<Secret> {
        self.store.lock().values.get(name).cloned()
    }

    fn wait(&self, names: &[SecretName]) -> bool {
        let mut held = self.store.lock();
        held.wanted_since = Some(Instant::now());
        let all_here = loop {
            if names.iter().all(|name| held.values.contains_key(name)) {
                break true;
            }
            if self.stop.load(Ordering::SeqCst) {
                break false;
            }
            held = self
                .store
                .changed
                .wait(held)
                .unwrap_or_else(PoisonError::into_inner);
        };
        held.wanted_since = None;
        all_here
    }

    fn forget(&self, name: &SecretName) {
        self.store.lock().values.remove(name);
    }
}
