//! Room on the disk, asked for before it is needed.

use std::fs;
use std::path::Path;

use crate::problem::{AtPath, Problem, Result};

/// Whether the disk of a folder (made here if it is missing) has room.
pub fn check(folder: &Path, needed: u64) -> Result<()> {
    fs::create_dir_all(folder).at("make", folder)?;
    let Ok(status) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = status.f_bavail * status.f_frsize;
    if free >= needed {
        return Ok(());
    }
    let gibibytes = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    Err(Problem::new(
        "CAS-LAB-011",
        format!("too little disk space below `{}`", folder.display()),
        "free some space, or set XDG_CACHE_HOME to a folder on a larger disk",
    )
    .seen("free", gibibytes(free))
    .seen("needed", gibibytes(needed)))
}
