//! The lock that allows one run at a time, with the name of its holder.
//!
//! The operating system releases it when the process exits, so a killed service
//! leaves no stale lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

use casement_resource::RunId;
use casement_resource::wire::LockHolder;

use super::{Layout, delete, read, state_failure, write_durably};
use crate::platform::Result;

#[derive(Debug)]
pub struct Lock {
    file: File,
    layout: Layout,
}

impl Lock {
    /// Acquires the lock, or returns its holder, if known.
    pub fn acquire(
        layout: &Layout,
        run: &RunId,
        controller: &str,
    ) -> Result<std::result::Result<Self, Option<LockHolder>>> {
        let path = layout.lock();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| state_failure("opened", &path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(holder(layout)?)),
            Err(TryLockError::Error(error)) => return Err(state_failure("locked", &path, &error)),
        }
        let holder = LockHolder {
            run: run.clone(),
            controller: controller.to_owned(),
            since: seconds(),
        };
        let json = serde_json::to_vec(&holder).unwrap_or_default();
        write_durably(&layout.lock_holder(), &json)?;
        Ok(Ok(Self {
            file,
            layout: layout.clone(),
        }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A holder file without a lock is ignored, so a failure here is harmless.
        let _ = delete(&self.layout.lock_holder());
        // Closing alone is not enough: a child process that is being spawned may have
        // inherited the handle.
        let _ = self.file.unlock();
    }
}

/// May be stale if the lock is free.
pub fn holder(layout: &Layout) -> Result<Option<LockHolder>> {
    let bytes = read(&layout.lock_holder())?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Seconds since the Unix epoch.
#[must_use]
pub fn seconds() -> u64 {
    since_epoch().as_secs()
}

/// Milliseconds since the Unix epoch.
#[must_use]
pub fn milliseconds() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

fn since_epoch() -> std::time::Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_acquire_returns_the_holder_until_release() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let (first, second) = ("r1".parse().unwrap(), "r2".parse().unwrap());
        let lock = Lock::acquire(&layout, &first, "anna").unwrap().unwrap();
        let refused = Lock::acquire(&layout, &second, "ben")
            .unwrap()
            .unwrap_err()
            .unwrap();
        assert_eq!((refused.run, refused.controller.as_str()), (first, "anna"));
        assert!(refused.since > 0);
        drop(lock);
        assert!(Lock::acquire(&layout, &second, "ben").unwrap().is_ok());
    }
}
