//! A blob on its way into the store, whoever brings it.
//!
//! It is written beside its place as `<hash>.part`, the name that the controller
//! uses over SFTP as well: what came one way is gone on with by any other.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use casement_resource::{Blob, Sha256};
use sha2::Digest as _;

use crate::platform::Result;
use crate::state::{Layout, state_failure};
use crate::system;

/// What there is of it.
pub struct Part {
    expected: Blob,
    path: PathBuf,
    place: PathBuf,
    file: File,
    length: u64,
    hasher: sha2::Sha256,
}

impl Part {
    /// What an earlier attempt left, or nothing.
    pub fn open(layout: &Layout, expected: &Blob) -> Result<Self> {
        let place = layout.blob(&expected.sha256);
        let path = PathBuf::from(format!("{}.part", place.display()));
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
            place,
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
            part.begin_anew()?;
        }
        Ok(part)
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Their hash.
    pub fn hash(&self) -> Sha256 {
        Sha256::from_bytes(self.hasher.clone().finalize().into())
    }

    /// Whether they are the blob.
    pub fn is_whole(&self) -> bool {
        self.length == self.expected.size && self.hash() == self.expected.sha256
    }

    /// Forgets them.
    pub fn begin_anew(&mut self) -> Result<()> {
        self.hasher = sha2::Sha256::new();
        self.length = 0;
        let emptied = self.file.set_len(0);
        emptied
            .and_then(|()| self.file.seek(SeekFrom::Start(0)).map(drop))
            .map_err(|error| state_failure("emptied", &self.path, &error))
    }

    /// Puts more behind them.
    pub fn add(&mut self, data: &[u8]) -> Result<()> {
        let written = self.file.write_all(data);
        written.map_err(|error| state_failure("written", &self.path, &error))?;
        self.hasher.update(data);
        self.length += data.len() as u64;
        Ok(())
    }

    /// Gives a whole blob its name.
    pub fn put_in_place(self) -> Result<()> {
        let place = self.place.clone();
        self.put_at(&place)
    }

    /// Gives it the name of another blob, which it turned out to be.
    pub fn put_at(self, place: &Path) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(|error| state_failure("written", &self.path, &error))?;
        let Self { path, file, .. } = self;
        // Windows renames no file that is open.
        drop(file);
        system::rename(&path, place).map_err(|error| state_failure("renamed", &path, &error))
    }

    /// Leaves nothing of it.
    pub fn discard(self) -> Result<()> {
        let Self { path, file, .. } = self;
        drop(file);
        crate::state::delete(&path)
    }
}
