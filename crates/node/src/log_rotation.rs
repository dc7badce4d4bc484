//! Rotation of service logs, on both operating systems: `x.log`, then `x.log.1` to
//! `x.log.5`, the last being the oldest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// In bytes.
pub(crate) const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Rotated files to keep.
pub(crate) const KEEP: u32 = 5;

/// The path of a rotated log; 1 is the most recent.
pub(crate) fn rotated_path(log: &Path, number: u32) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Shifts the rotated logs by one and drops the oldest.
pub(crate) fn shift_rotated(log: &Path) -> io::Result<()> {
    for number in (1..KEEP).rev() {
        let from = rotated_path(log, number);
        if from.exists() {
            fs::rename(&from, rotated_path(log, number + 1))?;
        }
    }
    Ok(())
}
