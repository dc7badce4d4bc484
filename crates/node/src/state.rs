//! The state folder: what the agent stores on the host.
//!
//! | path | content |
//! | --- | --- |
//! | `blobs/<sha256>` | blobs, uploaded by the controller or downloaded by the agent |
//! | `state/records.json` | what casement created, and the prior state |
//! | `state/prior/<sha256>` | content of replaced files |
//! | `state/unpacked/<sha256>.json` | hashes of the members of an archive |
//! | `state/kept/<stage>.json` | the applied document that the host is kept in sync with |
//! | `state/adapters/<address>.json` | settings of an adapter before a switch took it over |
//! | `state/secrets/<sha256>.json` | hash of a file with secrets, by the hash of its path |
//! | `state/services/<name>.json` | service definitions for `casement-node host` |
//! | `journal/<run>.jsonl`, `journal/<run>.order.json` | events of a run, and its order |
//! | `lock`, `lock.json` | locked during a run; its holder and start time |
//! | `pull.lock` | locked during downloads |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use casement_resource::{Access, Blob, Code, Failure, HostPath, RunId, Sha256, Stage};

use crate::platform::{Platform, Result};
use crate::system;

pub mod applied;
pub mod journal;
pub mod lock;
pub mod order;
pub mod records;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn blob(&self, sha256: &Sha256) -> PathBuf {
        self.root.join("blobs").join(sha256.to_string())
    }

    /// Blobs get their final name only when they are complete.
    #[must_use]
    pub fn has_blob(&self, blob: &Blob) -> bool {
        let metadata = fs::metadata(self.blob(&blob.sha256));
        metadata.is_ok_and(|found| found.len() == blob.size)
    }

    #[must_use]
    pub fn records(&self) -> PathBuf {
        self.root.join("state").join("records.json")
    }

    /// The content of a replaced file.
    #[must_use]
    pub fn prior(&self, sha256: &Sha256) -> PathBuf {
        self.root
            .join("state")
            .join("prior")
            .join(sha256.to_string())
    }

    /// The applied document of a stage.
    #[must_use]
    pub fn applied(&self, stage: Stage) -> PathBuf {
        let file = format!("{}.json", stage.name());
        self.root.join("state").join("kept").join(file)
    }

    /// The settings of an adapter before a switch took it over.
    #[must_use]
    pub fn adapter(&self, address: IpAddr) -> PathBuf {
        // File names on Windows cannot contain a colon.
        let file = format!("{}.json", address.to_string().replace(':', "-"));
        self.root.join("state").join("adapters").join(file)
    }

    /// The recorded hash of a file with secrets.
    #[must_use]
    pub fn secret_note(&self, path: &HostPath) -> PathBuf {
        let file = format!("{}.json", Sha256::of(path.as_str().as_bytes()));
        self.root.join("state").join("secrets").join(file)
    }

    /// The hashes of the members of an archive.
    #[must_use]
    pub fn unpacked(&self, sha256: &Sha256) -> PathBuf {
        self.root
            .join("state")
            .join("unpacked")
            .join(format!("{sha256}.json"))
    }

    /// The folder of service definitions.
    #[must_use]
    pub fn services(&self) -> PathBuf {
        self.root.join("state").join("services")
    }

    /// `None` for a name with other characters than letters, digits, `-`, `_` and `.`.
    #[must_use]
    pub fn service_file(&self, name: &str) -> Option<PathBuf> {
        let plain = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
        };
        let usable = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
        let file = format!("{}.json", name.to_ascii_lowercase());
        usable.then(|| self.services().join(file))
    }

    #[must_use]
    pub fn journal(&self, run: &RunId) -> PathBuf {
        self.root.join("journal").join(format!("{run}.jsonl"))
    }

    #[must_use]
    pub fn order(&self, run: &RunId) -> PathBuf {
        self.root.join("journal").join(format!("{run}.order.json"))
    }

    #[must_use]
    pub fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    #[must_use]
    pub fn pull_lock(&self) -> PathBuf {
        self.root.join("pull.lock")
    }

    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// A separate file, because a locked file cannot be read on Windows.
    #[must_use]
    pub fn lock_holder(&self) -> PathBuf {
        self.root.join("lock.json")
    }

    /// Creates the folders for administrators only. Fails if an untrusted user owns one
    /// of them, or could replace it.
    pub fn prepare(&self, platform: &(impl Platform + ?Sized)) -> Result<()> {
        if !platform.is_simulated() {
            system::check_parent_dirs(&self.root)?;
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

    fn prepare_folder(&self, platform: &(impl Platform + ?Sized), folder: &str) -> Result<()> {
        let path = if folder.is_empty() {
            self.root.clone()
        } else {
            self.root.join(folder)
        };
        if platform.is_simulated() {
            let created = fs::create_dir_all(&path);
            return created.map_err(|error| state_failure("created", &path, &error));
        }
        let text = path.to_string_lossy().into_owned();
        let path: HostPath = text.parse().map_err(|error| {
            Failure::new(
                Code::State,
                format!("invalid state folder `{text}`: {error}"),
                "pass an absolute path with `--state-dir`",
            )
        })?;
        match platform.entry(&path)? {
            None => platform.create_directory(&path, Access::AdministratorsOnly),
            Some(entry) if !entry.access.owner_trusted => Err(Failure::new(
                Code::Untrusted,
                format!("the owner of the state folder `{path}` is not an administrator"),
                "check its contents, delete it, then try again",
            )
            .values("owned by administrators", entry.access.descriptor)),
            Some(entry) if !entry.access.administrators_only => {
                platform.set_access(&path, Access::AdministratorsOnly)
            }
            Some(_) => Ok(()),
        }
    }
}

/// `what` is a past participle: "read", "written".
pub(crate) fn state_failure(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Code::State,
        format!("`{}` could not be {what}", path.display()),
        "free up disk space or fix the folder permissions, then run `casement apply` again",
    )
    .found(error.to_string())
}

/// Replaces a file atomically; it is durable when this returns.
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

/// The content of a file; `None` if it is absent.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state_failure("read", path, &error)),
    }
}

/// Deletes a file; an absent file is not an error.
pub(crate) fn delete(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(state_failure("deleted", path, &error)),
    }
}

/// Makes the directory entry of a new or renamed file durable; Windows does this itself.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(windows)]
    let _: (&Path, Option<File>) = (path, None);
    Ok(())
}
