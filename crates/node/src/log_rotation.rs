//! How much is kept of a service's log, on both systems: the log itself, and what
//! it was before, in numbered files of which the last is the oldest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How long a log may grow, in bytes.
pub(crate) const LIMIT: u64 = 10 * 1024 * 1024;
/// How many older ones there are at most.
pub(crate) const KEPT: u32 = 5;

/// An older log; 1 is the latest of them.
pub(crate) fn numbered(log: &Path, number: u32) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Makes room for one more; the oldest goes.
pub(crate) fn make_room(log: &Path) -> io::Result<()> {
    for number in (1..KEPT).rev() {
        let from = numbered(log, number);
        if from.exists() {
            fs::rename(&from, numbered(log, number + 1))?;
        }
    }
    Ok(())
}
