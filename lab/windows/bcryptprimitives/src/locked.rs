//! A mutex without std.

use core::cell::UnsafeCell;

use windows_sys::Win32::System::Threading::{
    AcquireSRWLockExclusive, ReleaseSRWLockExclusive, SRWLOCK, SRWLOCK_INIT,
};

pub struct Locked<T> {
    lock: UnsafeCell<SRWLOCK>,
    value: UnsafeCell<T>,
}

// SAFETY: only `with` gives access to the value, and it holds the lock.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Self {
            lock: UnsafeCell::new(SRWLOCK_INIT),
            value: UnsafeCell::new(value),
        }
    }

    /// Calls must not be nested.
    pub fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock lives as long as self.
        unsafe { AcquireSRWLockExclusive(self.lock.get()) };
        // SAFETY: the lock is held, and panics do not unwind.
        let result = action(unsafe { &mut *self.value.get() });
        // SAFETY: acquired above.
        unsafe { ReleaseSRWLockExclusive(self.lock.get()) };
        result
    }
}
