//! A log file with rotation.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::log_rotation::{MAX_BYTES, rotated_path, shift_rotated};

/// Appends to a file; a full one is renamed to `….1`, and so on up to `….5`.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
}

impl Log {
    /// Creates the directory if needed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, MAX_BYTES)
    }

    fn with_limit(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            size: file.metadata()?.len(),
            path: path.to_owned(),
            file,
            limit,
        })
    }

    /// If the rename fails because another process has the file open, logging
    /// continues in the same file.
    fn rotate(&mut self) -> io::Result<()> {
        shift_rotated(&self.path)?;
        if self.path.exists() {
            fs::rename(&self.path, rotated_path(&self.path, 1))?;
        }
        *self = Self::with_limit(&self.path, self.limit)?;
        Ok(())
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.limit {
            // Retried on the next write.
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
    use crate::log_rotation::KEEP;

    #[test]
    fn full_log_is_rotated_and_the_oldest_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep").join("x.log");
        let mut log = Log::with_limit(&path, 10).unwrap();
        for number in 0..8 {
            log.write_all(format!("line {number}\n").as_bytes())
                .unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line 7\n");
        assert_eq!(
            fs::read_to_string(rotated_path(&path, 1)).unwrap(),
            "line 6\n"
        );
        assert_eq!(
            fs::read_to_string(rotated_path(&path, KEEP)).unwrap(),
            "line 2\n"
        );
        assert!(!rotated_path(&path, KEEP + 1).exists());
    }

    #[test]
    fn existing_log_is_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        fs::write(&path, "before\n").unwrap();
        writeln!(Log::open(&path).unwrap(), "after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
    }
}
