//! A lock that allows one command at a time per directory.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::problem::{self, AtPath, Problem, Result};

/// An flock on a directory: released on drop or when the process ends.
#[derive(Debug)]
pub struct Lock {
    _dir: File,
}

impl Lock {
    pub fn create_and_take(dir: &Path, what: &str) -> Result<Self> {
        fs::create_dir_all(dir).at("create", dir)?;
        Self::take(dir, what)
    }

    /// Waits for the current holder.
    pub fn wait_for(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).at("create", dir)?;
        let file = File::open(dir).at("open", dir)?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| problem::lock(dir, &error.into()))?;
        Ok(Self { _dir: file })
    }

    /// Fails if another process holds the lock.
    pub fn take(dir: &Path, what: &str) -> Result<Self> {
        let file = File::open(dir).at("open", dir)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _dir: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Problem::new(
                "CAS-LAB-018",
                format!("another `casement lab` command is running on {what}"),
                "wait until it finishes, or stop it with Ctrl-C, then try again",
            )
            .detail("directory", dir.display())),
            Err(error) => Err(problem::lock(dir, &error.into())),
        }
    }
}
