//! The lock: one run at a time, and everybody else is told whose it is.
//!
//! The operating system holds it for the process, so a killed service leaves
//! none behind.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

use casement_resource::RunId;
use casement_resource::wire::LockHolder;

use super::{Layout, delete, read, state_failure, write_durably};
use crate::platform::Result;

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    layout: Layout,
}

impl Lock {
    /// Takes the lock, or says who has it (as far as that is known).
    pub fn take(
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
        // A holder's name without a lock means nothing, so a failure here does
        // no harm.
        let _ = delete(&self.layout.lock_holder());
        // Closing alone leaves it to a program that is just being started, which has
        // the file for a moment too.
        let _ = self.file.unlock();
    }
}

/// Who wrote the holder's file last.
pub fn holder(layout: &Layout) -> Result<Option<LockHolder>> {
    let bytes = read(&layout.lock_holder())?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Seconds since 1970.
#[must_use]
pub fn seconds() -> u64 {
    since_1970().as_secs()
}

/// Milliseconds since 1970.
#[must_use]
pub fn milliseconds() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

fn since_1970() -> std::time::Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it_and_a_freed_lock_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let (first, second) = ("r1".parse().unwrap(), "r2".parse().unwrap());
        let held = Lock::take(&layout, &first, "anna").unwrap().unwrap();
        let refused = Lock::take(&layout, &second, "ben")
            .unwrap()
            .unwrap_err()
            .unwrap();
        assert_eq!((refused.run, refused.controller.as_str()), (first, "anna"));
        assert!(refused.since > 0);
        drop(held);
        assert!(Lock::take(&layout, &second, "ben").unwrap().is_ok());
    }
}
