//! A blob that is not complete yet, whatever its source.
//!
//! It is written next to its destination as `<hash>.part`, the name that the
//! controller also uses over SFTP, so a transfer can be resumed by any of the
//! methods.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use casement_resource::{Blob, Sha256};
use sha2::Digest as _;

use crate::platform::Result;
use crate::state::{Layout, state_failure};
use crate::system;

pub struct PartialBlob {
    expected: Blob,
    path: PathBuf,
    destination: PathBuf,
    file: File,
    length: u64,
    hasher: sha2::Sha256,
}

impl PartialBlob {
    /// Opens what an earlier attempt left, or creates an empty file.
    pub fn open(layout: &Layout, expected: &Blob) -> Result<Self> {
        let destination = layout.blob(&expected.sha256);
        let path = PathBuf::from(format!("{}.part", destination.display()));
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut part = Self {
            expected: *expected,
            file: opened.map_err(|error| state_failure("opened", &path, &error))?,
            path,
            destination,
            length: 0,
            hasher: sha2::Sha256::new(),
        };
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = part.file.read(&mut buffer);
            match read.map_err(|error| state_failure("read", &part.path, &error))? {
                0 => break,
                count => {
                    part.length += count as u64;
                    part.hasher.update(buffer.get(..count).unwrap_or_default());
                }
            }
        }
        if part.length > expected.size {
            part.restart()?;
        }
        Ok(part)
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn hash(&self) -> Sha256 {
        Sha256::from_bytes(self.hasher.clone().finalize().into())
    }

    /// Whether size and hash match the expected blob.
    pub fn is_complete(&self) -> bool {
        self.length == self.expected.size && self.hash() == self.expected.sha256
    }

    /// Truncates the file.
    pub fn restart(&mut self) -> Result<()> {
        self.hasher = sha2::Sha256::new();
        self.length = 0;
        let emptied = self.file.set_len(0);
        emptied
            .and_then(|()| self.file.seek(SeekFrom::Start(0)).map(drop))
            .map_err(|error| state_failure("truncated", &self.path, &error))
    }

    pub fn append(&mut self, data: &[u8]) -> Result<()> {
        let written = self.file.write_all(data);
        written.map_err(|error| state_failure("written", &self.path, &error))?;
        self.hasher.update(data);
        self.length += data.len() as u64;
        Ok(())
    }

    /// Renames a complete blob to its final name.
    pub fn commit(self) -> Result<()> {
        let destination = self.destination.clone();
        self.commit_as(&destination)
    }

    /// Renames it to another blob, whose content it turned out to have.
    pub fn commit_as(self, destination: &Path) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(|error| state_failure("written", &self.path, &error))?;
        let Self { path, file, .. } = self;
        // Windows cannot rename an open file.
        drop(file);
        system::rename(&path, destination).map_err(|error| state_failure("renamed", &path, &error))
    }

    pub fn discard(self) -> Result<()> {
        let Self { path, file, .. } = self;
        drop(file);
        crate::state::delete(&path)
    }
}
