//! The state folder: what the agent keeps on the host's disk.
//!
//! | path | holds |
//! | --- | --- |
//! | `blobs/<sha256>` | blobs, as the controller put them there or the agent fetched them |
//! | `state/records.json` | what casement made, and what was there before |
//! | `state/prior/<sha256>` | the bytes of files that were replaced |
//! | `state/unpacked/<sha256>.json` | what the members of an archive hash to |
//! | `state/kept/<stage>.json` | what the host is to stay |
//! | `state/adapters/<address>.json` | what an adapter had before a switch took it |
//! | `state/secrets/<sha256>.json` | what a file with secrets hashes to, by the hash of its path |
//! | `state/services/<name>.json` | definitions, for `casement-node host` |
//! | `journal/<run>.jsonl`, `journal/<run>.order.json` | events of a run, and what it was told to do |
//! | `lock`, `lock.json` | held while a run is at work; by whom and since when |
//! | `pull.lock` | held while downloads are fetched |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use casement_resource::{Access, Blob, Code, Failure, HostPath, RunId, Sha256, Stage};

use crate::platform::{Platform, Result};
use crate::system;

pub mod journal;
#[path = "state/applied.rs"]
pub mod kept;
pub mod lock;
pub mod order;
pub mod records;

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout below a folder.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A blob.
    #[must_use]
    pub fn blob(&self, sha256: &Sha256) -> PathBuf {
        self.root.join("blobs").join(sha256.to_string())
    }

    /// Whether a blob is in its place: nothing has its name before it was whole.
    #[must_use]
    pub fn has(&self, blob: &Blob) -> bool {
        let there = fs::metadata(self.blob(&blob.sha256));
        there.is_ok_and(|found| found.len() == blob.size)
    }

    /// The records.
    #[must_use]
    pub fn records(&self) -> PathBuf {
        self.root.join("state").join("records.json")
    }

    /// The bytes of a file that was replaced.
    #[must_use]
    pub fn prior(&self, sha256: &Sha256) -> PathBuf {
        self.root
            .join("state")
            .join("prior")
            .join(sha256.to_string())
    }

    /// The document of a stage that the host is kept to.
    #[must_use]
    pub fn kept(&self, stage: Stage) -> PathBuf {
        let file = format!("{}.json", stage.name());
        self.root.join("state").join("kept").join(file)
    }

    /// What the adapter with an address had before a switch took it.
    #[must_use]
    pub fn adapter(&self, address: IpAddr) -> PathBuf {
        // A colon cannot be in a name on Windows.
        let file = format!("{}.json", address.to_string().replace(':', "-"));
        self.root.join("state").join("adapters").join(file)
    }

    /// What was noted of a file with secrets.
    #[must_use]
    pub fn secret_note(&self, path: &HostPath) -> PathBuf {
        let file = format!("{}.json", Sha256::of(path.as_str().as_bytes()));
        self.root.join("state").join("secrets").join(file)
    }

    /// What an archive's members hash to.
    #[must_use]
    pub fn unpacked(&self, sha256: &Sha256) -> PathBuf {
        self.root
            .join("state")
            .join("unpacked")
            .join(format!("{sha256}.json"))
    }

    /// The folder of the definitions of casement's services.
    #[must_use]
    pub fn services(&self) -> PathBuf {
        self.root.join("state").join("services")
    }

    /// The definition of a service of casement's. A name with anything but
    /// letters, digits, `-`, `_` and `.` has none.
    #[must_use]
    pub fn service_file(&self, name: &str) -> Option<PathBuf> {
        let plain = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
        };
        let usable = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
        let file = format!("{}.json", name.to_ascii_lowercase());
        usable.then(|| self.services().join(file))
    }

    /// The events of a run.
    #[must_use]
    pub fn journal(&self, run: &RunId) -> PathBuf {
        self.root.join("journal").join(format!("{run}.jsonl"))
    }

    /// What a run was told to do.
    #[must_use]
    pub fn order(&self, run: &RunId) -> PathBuf {
        self.root.join("journal").join(format!("{run}.order.json"))
    }

    /// The folder of the journals.
    #[must_use]
    pub fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// The file that is locked while downloads are fetched.
    #[must_use]
    pub fn pull_lock(&self) -> PathBuf {
        self.root.join("pull.lock")
    }

    /// The file that is locked while a run is at work.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Who holds the lock; apart, because Windows lets nobody read a locked file.
    #[must_use]
    pub fn lock_holder(&self) -> PathBuf {
        self.root.join("lock.json")
    }

    /// Makes the folders, for administrators only, and refuses one that
    /// belongs to somebody else, or that somebody else could put another in the
    /// place of.
    pub fn prepare(&self, platform: &(impl Platform + ?Sized)) -> Result<()> {
        if !platform.is_simulated() {
            system::check_way(&self.root)?;
        }
        for folder in [
            "",
            "blobs",
            "journal",
            "state",
            "state/adapters",
            "state/kept",
            "state/prior",
            "state/secrets",
            "state/services",
            "state/unpacked",
        ] {
            self.prepare_folder(platform, folder)?;
        }
        Ok(())
    }

    fn prepare_folder(&self, files: &(impl Platform + ?Sized), folder: &str) -> Result<()> {
        let path = if folder.is_empty() {
            self.root.clone()
        } else {
            self.root.join(folder)
        };
        if files.is_simulated() {
            let made = fs::create_dir_all(&path);
            return made.map_err(|error| state_failure("made", &path, &error));
        }
        let text = path.to_string_lossy().into_owned();
        let path: HostPath = text.parse().map_err(|error| {
            Failure::new(
                Code::State,
                format!("the state folder `{text}`: {error}"),
                "give an absolute path with --state-dir",
            )
        })?;
        match files.entry(&path)? {
            None => files.make_directory(&path, Access::AdministratorsOnly),
            Some(entry) if !entry.access.owner_trusted => Err(Failure::new(
                Code::Untrusted,
                format!("the state folder `{path}` belongs to somebody who is no administrator"),
                "look at what is in it, then delete it and try again",
            )
            .values("an administrator's", entry.access.descriptor)),
            Some(entry) if !entry.access.administrators_only => {
                files.set_access(&path, Access::AdministratorsOnly)
            }
            Some(_) => Ok(()),
        }
    }
}

/// The failure of an operation on the state folder.
pub(crate) fn state_failure(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Code::State,
        format!("`{}` could not be {what}", path.display()),
        "check the disk's free space and the folder's permissions, then apply again",
    )
    .found(error.to_string())
}

/// Puts a file there as a whole, durable when it returns.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        system::rename(&temporary, path)?;
        sync_folder(path)
    };
    write().map_err(|error| state_failure("written", path, &error))
}

/// A file's bytes; none if it is absent.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state_failure("read", path, &error)),
    }
}

/// Deletes a file; absent is fine.
pub(crate) fn delete(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(state_failure("deleted", path, &error)),
    }
}

/// Makes the entry of a new or renamed file durable; Windows does that itself.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(windows)]
    let _: (&Path, Option<File>) = (path, None);
    Ok(())
}
