//! Callbacks into tests and models outside of a simulated host.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) struct Hook<F: ?Sized>(Mutex<Option<Arc<F>>>);

impl<F: ?Sized> Hook<F> {
    pub(super) fn set(&self, callback: Arc<F>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(callback);
    }

    /// The lock is not held during the call, which may block and use the host.
    pub(super) fn get(&self) -> Option<Arc<F>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl<F: ?Sized> Default for Hook<F> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<F: ?Sized> fmt::Debug for Hook<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hook")
    }
}
