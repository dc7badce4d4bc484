//! `file`.

use std::fs;
use std::io::{self, Read};

use casement_resource::{
    Access, Code, Diff, Failure, File, FileFacts, HostPath, Prior, Resource, SavedFile, Sha256,
};
use sha2::Digest;

use super::directory::{
    create_parents, in_the_way, missing, remove_created_parents, require_trust,
};
use super::{Kind, KindContext, wrong_prior};
use crate::platform::{EntryKind, Platform, Result, WriteOptions};
use crate::state::{delete, read, write_durably};

impl Kind for File {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&file_facts(context.platform, &self.path)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let saved = save(context, &self.path, self.access)?;
        let missing = missing(context, self.path.parent())?;
        Ok(Prior::File { missing, saved })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        match file_facts(context.platform, &self.path)? {
            FileFacts::InTheWay => return Err(in_the_way(&self.path, "a regular file")),
            FileFacts::Absent => create_parents(context.platform, &self.path)?,
            FileFacts::Present { access, sha256, .. } => {
                require_trust(
                    &self.path,
                    self.access,
                    access.owner_trusted,
                    &access.descriptor,
                )?;
                if sha256 == self.content.sha256() {
                    return context.platform.set_access(&self.path, self.access);
                }
            }
        }
        let form = WriteOptions {
            access: self.access,
            executable: false,
        };
        context
            .platform
            .write(&self.path, &mut self.content.bytes(), form)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::File { missing, saved } = prior else {
            return Err(wrong_prior("a file", prior));
        };
        restore(context, &self.path, saved.as_ref())?;
        // It may have been a file with secrets before.
        delete(&context.layout.secret_note(&self.path))?;
        remove_created_parents(context, missing, &self.path)
    }
}

pub(super) fn file_facts(platform: &dyn Platform, path: &HostPath) -> Result<FileFacts> {
    Ok(match platform.entry(path)? {
        None => FileFacts::Absent,
        Some(entry) if entry.kind == EntryKind::File => {
            let (sha256, size) = hash(path, &mut platform.open(path)?)?;
            FileFacts::Present {
                sha256,
                size,
                access: entry.access,
            }
        }
        Some(_) => FileFacts::InTheWay,
    })
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read_text(platform: &dyn Platform, path: &HostPath) -> Result<Option<String>> {
    match platform.entry(path)? {
        None => return Ok(None),
        Some(entry) if entry.kind != EntryKind::File => {
            return Err(in_the_way(path, "a regular file"));
        }
        Some(_) => {}
    }
    let mut bytes = Vec::new();
    let mut reader = platform.open(path)?;
    reader
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map(Some).map_err(|_| {
        Failure::new(
            Code::Foreign,
            format!("`{path}` is not valid UTF-8, so its lines cannot be changed"),
            "convert the file to UTF-8, or manage the whole file",
        )
    })
}

/// Saves a file that is about to be replaced to the state folder.
pub(super) fn save(
    context: &KindContext<'_>,
    path: &HostPath,
    wanted: Access,
) -> Result<Option<SavedFile>> {
    let (sha256, size, access) = match file_facts(context.platform, path)? {
        FileFacts::Absent => return Ok(None),
        FileFacts::InTheWay => return Err(in_the_way(path, "a regular file")),
        FileFacts::Present {
            sha256,
            size,
            access,
        } => (sha256, size, access),
    };
    require_trust(path, wanted, access.owner_trusted, &access.descriptor)?;
    let saved_path = context.layout.prior(&sha256);
    if !saved_path.exists() {
        let mut bytes = Vec::new();
        context
            .platform
            .open(path)?
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(path, &error))?;
        if Sha256::of(&bytes) != sha256 {
            return Err(Failure::new(
                Code::Foreign,
                format!("`{path}` changed while it was read"),
                "stop the program that writes it, then run `casement apply` again",
            ));
        }
        write_durably(&saved_path, &bytes)?;
    }
    Ok(Some(SavedFile {
        sha256,
        size,
        access: access.descriptor,
    }))
}

/// Restores a saved file, or deletes one that did not exist before.
pub(super) fn restore(
    context: &KindContext<'_>,
    path: &HostPath,
    saved: Option<&SavedFile>,
) -> Result<()> {
    let Some(saved) = saved else {
        return match context.platform.entry(path)? {
            Some(entry) if entry.kind == EntryKind::File => context.platform.remove_file(path),
            _ => Ok(()),
        };
    };
    match file_facts(context.platform, path)? {
        FileFacts::InTheWay => return Err(in_the_way(path, "a regular file")),
        FileFacts::Present { sha256, access, .. } if sha256 == saved.sha256 => {
            if access.descriptor == saved.access {
                return Ok(());
            }
        }
        _ => {
            let saved_path = context.layout.prior(&saved.sha256);
            let bytes = read(&saved_path)?.filter(|bytes| Sha256::of(bytes) == saved.sha256);
            let bytes = bytes.ok_or_else(|| {
                Failure::new(
                    Code::Restore,
                    format!(
                        "the prior content of `{path}` is missing from `{}`",
                        saved_path.display()
                    ),
                    "restore the file from a backup",
                )
            })?;
            create_parents(context.platform, path)?;
            let form = WriteOptions {
                access: Access::Inherited,
                executable: false,
            };
            context.platform.write(path, &mut bytes.as_slice(), form)?;
        }
    }
    context.platform.restore_access(path, &saved.access)
}

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
        format!("failed to read `{path}`"),
        "check its permissions and whether another program has it open",
    )
    .found(error.to_string())
}

/// The hash and size of a file in the state folder; `None` if it is absent.
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
