//! Secrets: in memory only, until they are used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use casement_resource::{Secret, SecretName};

use crate::engine::SecretSource;

/// What was sent, until it is used.
#[derive(Debug, Default)]
pub(super) struct Store {
    values: Mutex<BTreeMap<SecretName, Secret>>,
    changed: Condvar,
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SecretName, Secret>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, values: BTreeMap<SecretName, Secret>) {
        self.lock().extend(values);
        self.changed.notify_all();
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
        self.store.lock().get(name).cloned()
    }

    fn wait(&self, names: &[SecretName]) -> bool {
        let mut values = self.store.lock();
        while !names.iter().all(|name| values.contains_key(name)) {
            if self.stop.load(Ordering::SeqCst) {
                return false;
            }
            values = self
                .store
                .changed
                .wait(values)
                .unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn forget(&self, name: &SecretName) {
        self.store.lock().remove(name);
    }
}
