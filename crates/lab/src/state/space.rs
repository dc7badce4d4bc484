//! Checks free disk space before a build.

use std::fs;
use std::path::Path;

use crate::problem::{AtPath, Problem, Result};

/// Creates the directory if it is missing. `needed` is in bytes.
pub fn check(dir: &Path, needed: u64) -> Result<()> {
    fs::create_dir_all(dir).at("create", dir)?;
    let Ok(status) = rustix::fs::statvfs(dir) else {
        return Ok(());
    };
    let free = status.f_bavail * status.f_frsize;
    if free >= needed {
        return Ok(());
    }
    let gibibytes = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    Err(Problem::new(
        "CAS-LAB-011",
        format!("not enough disk space in `{}`", dir.display()),
        "free some space, or set XDG_CACHE_HOME to a directory on a larger disk",
    )
    .detail("free", gibibytes(free))
    .detail("needed", gibibytes(needed)))
}
