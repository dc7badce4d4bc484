//! Secrets, kept in memory only until they are used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_resource::{Secret, SecretName};

use crate::engine::SecretSource;

#[derive(Debug, Default)]
pub(super) struct SecretStore {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<SecretName, Secret>,
    /// Set while a run waits for a missing secret.
    waiting_since: Option<Instant>,
}

impl SecretStore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, values: BTreeMap<SecretName, Secret>) {
        self.lock().values.extend(values);
        self.changed.notify_all();
    }

    /// Secrets for one run must not reach the next.
    pub(super) fn clear(&self) {
        self.lock().values.clear();
    }

    /// How long a run has been waiting.
    pub(super) fn waiting_time(&self) -> Option<Duration> {
        self.lock().waiting_since.map(|since| since.elapsed())
    }

    /// Wakes waiting runs so that they notice a cancellation.
    pub(super) fn wake(&self) {
        // Take the lock, so that nobody is between checking and waiting.
        drop(self.lock());
        self.changed.notify_all();
    }
}

pub(super) struct RunSecrets<'a> {
    pub(super) store: &'a SecretStore,
    pub(super) stop: &'a AtomicBool,
}

impl SecretSource for RunSecrets<'_> {
    fn get(&self, name: &SecretName) -> Option<Secret> {
        self.store.lock().values.get(name).cloned()
    }

    fn wait(&self, names: &[SecretName]) -> bool {
        let mut state = self.store.lock();
        state.waiting_since = Some(Instant::now());
        let complete = loop {
            if names.iter().all(|name| state.values.contains_key(name)) {
                break true;
            }
            if self.stop.load(Ordering::SeqCst) {
                break false;
            }
            state = self
                .store
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.waiting_since = None;
        complete
    }

    fn forget(&self, name: &SecretName) {
        self.store.lock().values.remove(name);
    }
}
