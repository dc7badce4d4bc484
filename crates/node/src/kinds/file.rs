//! `file`.

use std::fs;
use std::io::{self, Read};

use casement_resource::{
    Access, Code, Diff, Failure, File, FileFacts, HostPath, Prior, Resource, SavedFile, Sha256,
};
use sha2::Digest;

use super::directory::{in_the_way, make_parents, missing, remove_made_parents, require_trust};
use super::{Kind, Place, wrong_prior};
use crate::platform::{EntryKind, Form, Platform, Result};
use crate::state::{delete, read, write_durably};

impl Kind for File {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(at.platform, &self.path)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let saved = save(at, &self.path, self.access)?;
        let missing = missing(at, self.path.parent())?;
        Ok(Prior::File { missing, saved })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        match observe(at.platform, &self.path)? {
            FileFacts::InTheWay => return Err(in_the_way(&self.path, "a plain file")),
            FileFacts::Absent => make_parents(at.platform, &self.path)?,
            FileFacts::Present { access, sha256, .. } => {
                require_trust(
                    &self.path,
                    self.access,
                    access.owner_trusted,
                    &access.descriptor,
                )?;
                if sha256 == self.content.sha256() {
                    return at.platform.set_access(&self.path, self.access);
                }
            }
        }
        let form = Form {
            access: self.access,
            executable: false,
        };
        at.platform
            .write(&self.path, &mut self.content.bytes(), form)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::File { missing, saved } = prior else {
            return Err(wrong_prior("a file", prior));
        };
        restore(at, &self.path, saved.as_ref())?;
        // It may have been one with secrets once.
        delete(&at.layout.secret_note(&self.path))?;
        remove_made_parents(at, missing, &self.path)
    }
}

pub(super) fn observe(files: &dyn Platform, path: &HostPath) -> Result<FileFacts> {
    Ok(match files.entry(path)? {
        None => FileFacts::Absent,
        Some(entry) if entry.kind == EntryKind::File => {
            let (sha256, size) = hash(path, &mut files.open(path)?)?;
            FileFacts::Present {
                sha256,
                size,
                access: entry.access,
            }
        }
        Some(_) => FileFacts::InTheWay,
    })
}

/// A file as text; none if nothing has its name.
pub(super) fn read_text(files: &dyn Platform, path: &HostPath) -> Result<Option<String>> {
    match files.entry(path)? {
        None => return Ok(None),
        Some(entry) if entry.kind != EntryKind::File => {
            return Err(in_the_way(path, "a plain file"));
        }
        Some(_) => {}
    }
    let mut bytes = Vec::new();
    let mut reader = files.open(path)?;
    reader
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map(Some).map_err(|_| {
        Failure::new(
            Code::Foreign,
            format!("`{path}` is no UTF-8 text, so its lines cannot be changed"),
            "convert the file, or write it as a whole",
        )
    })
}

/// Keeps a file that is about to be replaced: its bytes go to the state folder.
pub(super) fn save(at: &Place<'_>, path: &HostPath, wanted: Access) -> Result<Option<SavedFile>> {
    let (sha256, size, access) = match observe(at.platform, path)? {
        FileFacts::Absent => return Ok(None),
        FileFacts::InTheWay => return Err(in_the_way(path, "a plain file")),
        FileFacts::Present {
            sha256,
            size,
            access,
        } => (sha256, size, access),
    };
    require_trust(path, wanted, access.owner_trusted, &access.descriptor)?;
    let kept = at.layout.prior(&sha256);
    if !kept.exists() {
        let mut bytes = Vec::new();
        at.platform
            .open(path)?
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(path, &error))?;
        if Sha256::of(&bytes) != sha256 {
            return Err(Failure::new(
                Code::Foreign,
                format!("`{path}` changes while it is read"),
                "stop the program that writes it and apply again",
            ));
        }
        write_durably(&kept, &bytes)?;
    }
    Ok(Some(SavedFile {
        sha256,
        size,
        access: access.descriptor,
    }))
}

/// Puts a kept file back, or deletes what was absent.
pub(super) fn restore(at: &Place<'_>, path: &HostPath, saved: Option<&SavedFile>) -> Result<()> {
    let Some(saved) = saved else {
        return match at.platform.entry(path)? {
            Some(entry) if entry.kind == EntryKind::File => at.platform.remove_file(path),
            _ => Ok(()),
        };
    };
    match observe(at.platform, path)? {
        FileFacts::InTheWay => return Err(in_the_way(path, "a plain file")),
        FileFacts::Present { sha256, access, .. } if sha256 == saved.sha256 => {
            if access.descriptor == saved.access {
                return Ok(());
            }
        }
        _ => {
            let kept = at.layout.prior(&saved.sha256);
            let bytes = read(&kept)?.filter(|bytes| Sha256::of(bytes) == saved.sha256);
            let bytes = bytes.ok_or_else(|| {
                Failure::new(
                    Code::Restore,
                    format!(
                        "what `{path}` held before is lost from `{}`",
                        kept.display()
                    ),
                    "put the file back from a backup",
                )
            })?;
            make_parents(at.platform, path)?;
            let form = Form {
                access: Access::Inherited,
                executable: false,
            };
            at.platform.write(path, &mut bytes.as_slice(), form)?;
        }
    }
    at.platform.restore_access(path, &saved.access)
}

/// Hash and size of all that can be read.
pub(super) fn hash(path: &HostPath, reader: &mut dyn Read) -> Result<(Sha256, u64)> {
    digest(reader).map_err(|error| unreadable(path, &error))
}

pub(super) fn digest(reader: &mut dyn Read) -> io::Result<(Sha256, u64)> {
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut size = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok((Sha256::from_bytes(hasher.finalize().into()), size)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
        size += count as u64;
    }
}

fn unreadable(path: &HostPath, error: &io::Error) -> Failure {
    Failure::new(
        Code::System,
        format!("`{path}` cannot be read"),
        "check its permissions, and whether a program holds it open",
    )
    .found(error.to_string())
}

/// Hash and size of a file of the state folder; none if it is absent.
pub(super) fn digest_file(path: &std::path::Path) -> Result<Option<(Sha256, u64)>> {
    let result = match fs::File::open(path) {
        Ok(mut file) => digest(&mut file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
    };
    result
        .map(Some)
        .map_err(|error| crate::state::state_failure("read", path, &error))
}
