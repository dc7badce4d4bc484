//! One command at a time on one folder.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::problem::{self, AtPath, Problem, Result};

/// Held until dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _folder: File,
}

impl Lock {
    /// Locks a folder, making it first where it is missing.
    pub fn take_making(folder: &Path, what: &str) -> Result<Self> {
        fs::create_dir_all(folder).at("make", folder)?;
        Self::take(folder, what)
    }

    /// Locks a folder for a moment, after whoever has it now.
    pub fn wait_for(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).at("make", folder)?;
        let file = File::open(folder).at("open", folder)?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| problem::file("lock", folder, &error.into()))?;
        Ok(Self { _folder: file })
    }

    /// Locks a folder that exists.
    pub fn take(folder: &Path, what: &str) -> Result<Self> {
        let file = File::open(folder).at("open", folder)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _folder: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Problem::new(
                "CAS-LAB-018",
                format!("another `casement lab` command is at work on {what}"),
                "wait until it is done, or end it (Ctrl-C), then try again",
            )
            .seen("folder", folder.display())),
            Err(error) => Err(problem::file("lock", folder, &error.into())),
        }
    }
}
