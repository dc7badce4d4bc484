//! What somebody outside of a simulated host has asked to be called for.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// None, until somebody asks.
pub(super) struct Hook<F: ?Sized>(Mutex<Option<Arc<F>>>);

impl<F: ?Sized> Hook<F> {
    pub(super) fn set(&self, called: Arc<F>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(called);
    }

    /// Not held while it is called: it may look at the host, and take its time.
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
