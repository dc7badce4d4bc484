//! A log file that does not grow for ever.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::old_logs::{LIMIT, make_room, numbered};

/// Appends to a file; when that is full, it becomes `….1`, and so on up to
/// `….5`.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
}

impl Log {
    /// Opens the file, and makes its folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMIT)
    }

    fn with_limit(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            size: file.metadata()?.len(),
            path: path.to_owned(),
            file,
            limit,
        })
    }

    /// Where a rename fails (somebody reads the file in a way that forbids
    /// it), the log goes on in the file that it has.
    fn rotate(&mut self) -> io::Result<()> {
        make_room(&self.path)?;
        if self.path.exists() {
            fs::rename(&self.path, numbered(&self.path, 1))?;
        }
        *self = Self::with_limit(&self.path, self.limit)?;
        Ok(())
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.limit {
            // Tried again with the next bytes.
            let _ = self.rotate();
        }
        let written = self.file.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old_logs::KEPT;

    #[test]
    fn a_full_log_moves_on_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("x.log");
        let mut log = Log::with_limit(&path, 10).unwrap();
        for number in 0..8 {
            log.write_all(format!("line {number}\n").as_bytes())
                .unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line 7\n");
        assert_eq!(fs::read_to_string(numbered(&path, 1)).unwrap(), "line 6\n");
        assert_eq!(
            fs::read_to_string(numbered(&path, KEPT)).unwrap(),
            "line 2\n"
        );
        assert!(!numbered(&path, KEPT + 1).exists());
    }

    #[test]
    fn an_old_log_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        fs::write(&path, "before\n").unwrap();
        writeln!(Log::open(&path).unwrap(), "after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
    }
}
