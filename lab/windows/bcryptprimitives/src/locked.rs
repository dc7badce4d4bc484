//! A value behind a lock, as std's Mutex without std.

use core::cell::UnsafeCell;

use windows_sys::Win32::System::Threading::{
    AcquireSRWLockExclusive, ReleaseSRWLockExclusive, SRWLOCK, SRWLOCK_INIT,
};

/// A value that one thread at a time may use.
pub struct Locked<T> {
    lock: UnsafeCell<SRWLOCK>,
    value: UnsafeCell<T>,
}

// SAFETY: `with` is the only way to the value and holds the lock.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// For statics.
    pub const fn new(value: T) -> Self {
        Self {
            lock: UnsafeCell::new(SRWLOCK_INIT),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `work` with the value; must not be nested.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock lives as long as self.
        unsafe { AcquireSRWLockExclusive(self.lock.get()) };
        // SAFETY: the lock is held, and panics do not unwind.
        let result = work(unsafe { &mut *self.value.get() });
        // SAFETY: acquired above.
        unsafe { ReleaseSRWLockExclusive(self.lock.get()) };
        result
    }
}
