//! `artifact`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};

use casement_resource::{
    Access, Artifact, ArtifactFacts, ArtifactFormat, Code, Diff, Failure, FileFacts, HostPath,
    MemberFacts, MemberFound, Prior, Resource, SavedFile, Sha256,
};
use sha2::Digest;

use super::archive::{ArchiveError, members};
use super::directory::{create_parents, in_the_way, missing, remove_created_parents};
use super::file::{digest_file, file_facts, restore, save};
use super::{Kind, KindContext, invalid_path, wrong_prior};
use crate::platform::{Result, WriteOptions};
use crate::state::{read, state_failure, write_durably};

impl Kind for Artifact {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let known = known_hashes(self, context)?;
        let accesses = self.accesses().map_err(invalid_path)?;
        let mut targets = BTreeMap::new();
        for (path, member) in self.targets().map_err(invalid_path)? {
            let wanted = match member {
                None => Some(self.sha256),
                Some(member) => known.get(member).copied(),
            };
            let found = match file_facts(context.platform, &path)? {
                FileFacts::Absent => None,
                FileFacts::InTheWay => return Err(in_the_way(&path, "a regular file")),
                FileFacts::Present {
                    sha256,
                    size,
                    access,
                } => Some(MemberFound {
                    content: (sha256, size),
                    access,
                }),
            };
            let access = accesses.get(&path).copied().unwrap_or_default();
            let member = MemberFacts {
                wanted,
                access,
                found,
            };
            targets.insert(path, member);
        }
        Ok(self.diff(&ArtifactFacts { targets }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let nothing = Prior::Artifact {
            missing: Vec::new(),
            targets: BTreeMap::new(),
        };
        self.extend(context, &nothing)
    }

    fn extend(&self, context: &KindContext<'_>, previous: &Prior) -> Result<Prior> {
        let Prior::Artifact {
            missing: absent,
            targets,
        } = previous
        else {
            return Err(wrong_prior("an artifact", previous));
        };
        let (mut absent, mut targets) = (absent.clone(), targets.clone());
        for path in self.targets().map_err(invalid_path)?.into_keys() {
            if targets.contains_key(&path) {
                continue;
            }
            for folder in missing(context, path.parent())? {
                if !absent.contains(&folder) {
                    absent.push(folder);
                }
            }
            let saved = save(context, &path, Access::Inherited)?;
            targets.insert(path, saved);
        }
        Ok(Prior::Artifact {
            missing: absent,
            targets,
        })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        check_blob(self, context)?;
        if self.format == ArtifactFormat::Plain {
            create_parents(context.platform, &self.destination)?;
            let mut blob = open_blob(self, context)?;
            return context
                .platform
                .write(&self.destination, &mut blob, form(self.access));
        }
        unpack(self, context)?;
        remove_dropped(self, context, prior)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Artifact { missing, targets } = prior else {
            return Err(wrong_prior("an artifact", prior));
        };
        for (path, saved) in targets {
            restore(context, path, saved.as_ref())?;
        }
        for folder in missing.iter().rev() {
            let folder = std::slice::from_ref(folder);
            remove_created_parents(context, folder, &self.destination)?;
        }
        Ok(())
    }
}

/// Executable unless the mode says otherwise.
fn form(access: Access) -> WriteOptions {
    WriteOptions {
        access,
        executable: true,
    }
}

/// The hashes of members, as computed when the archive was last unpacked.
fn known_hashes(
    artifact: &Artifact,
    context: &KindContext<'_>,
) -> Result<BTreeMap<String, Sha256>> {
    if artifact.format == ArtifactFormat::Plain {
        return Ok(BTreeMap::new());
    }
    let bytes = read(&context.layout.unpacked(&artifact.sha256))?;
    // Without readable hashes the archive is unpacked again.
    Ok(bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default())
}

fn check_blob(artifact: &Artifact, context: &KindContext<'_>) -> Result<()> {
    let path = context.layout.blob(&artifact.sha256);
    let wanted = format!("sha256 {}, {} bytes", artifact.sha256, artifact.size);
    match digest_file(&path)? {
        None => Err(Failure::new(
            Code::BlobMissing,
            format!("the blob for `{}` is not on the host", artifact.destination),
            "run `casement apply` again: it copies missing blobs",
        )
        .values(wanted, "nothing")),
        Some((sha256, size)) if sha256 == artifact.sha256 && size == artifact.size => Ok(()),
        Some((sha256, size)) => {
            crate::state::delete(&path)?;
            Err(Failure::new(
                Code::BlobMismatch,
                format!(
                    "the blob for `{}` does not match its hash",
                    artifact.destination
                ),
                "run `casement apply` again: it copies the blob again",
            )
            .values(wanted, format!("sha256 {sha256}, {size} bytes")))
        }
    }
}

fn open_blob(artifact: &Artifact, context: &KindContext<'_>) -> Result<fs::File> {
    let path = context.layout.blob(&artifact.sha256);
    fs::File::open(&path).map_err(|error| state_failure("read", &path, &error))
}

fn unpack(artifact: &Artifact, context: &KindContext<'_>) -> Result<()> {
    let accesses = artifact.accesses().map_err(invalid_path)?;
    let mut by_member: BTreeMap<&str, Vec<Target>> = BTreeMap::new();
    for (path, member) in artifact.targets().map_err(invalid_path)? {
        let access = accesses.get(&path).copied().unwrap_or_default();
        by_member
            .entry(member.unwrap_or_default())
            .or_default()
            .push((path, access));
    }
    let wanted = by_member.keys().copied().collect();
    // The whole archive is checked before anything is written.
    let mut skip_member =
        |_: &str, reader: &mut dyn Read| io::copy(reader, &mut io::sink()).map(drop);
    members(
        open_blob(artifact, context)?,
        artifact,
        &wanted,
        &mut skip_member,
    )
    .map_err(|error| rejected(artifact, &error))?;
    let mut hashes = known_hashes(artifact, context)?;
    let mut failure = None;
    let mut extract = |name: &str, reader: &mut dyn Read| {
        let paths = by_member.get(name).map(Vec::as_slice).unwrap_or_default();
        match write_member(context, paths, reader) {
            Ok(sha256) => {
                hashes.insert(name.to_owned(), sha256);
                Ok(())
            }
            Err(error) => {
                failure = Some(error);
                Err(io::Error::other("failed to write a member"))
            }
        }
    };
    let result = members(
        open_blob(artifact, context)?,
        artifact,
        &wanted,
        &mut extract,
    );
    if let Some(failure) = failure {
        return Err(failure);
    }
    result.map_err(|error| rejected(artifact, &error))?;
    let json = serde_json::to_vec(&hashes).unwrap_or_default();
    write_durably(&context.layout.unpacked(&artifact.sha256), &json)
}

/// Nothing of a rejected archive was written.
fn rejected(artifact: &Artifact, error: &ArchiveError) -> Failure {
    let limits = artifact.unpack_limits();
    let (wanted, remedy) = match error {
        ArchiveError::TooLarge => (
            format!(
                "at most {} bytes, from a blob of {} bytes",
                limits.bytes, artifact.size
            ),
            "this looks like a decompression bomb: check the source of the archive",
        ),
        ArchiveError::TooMany(_) => (
            format!(
                "at most {} entries, in a blob of {} bytes",
                limits.entries, artifact.size
            ),
            "this looks like a decompression bomb: check the source of the archive",
        ),
        ArchiveError::Escapes(_) => (
            "names inside the directory".to_owned(),
            "this archive looks malicious: check its source",
        ),
        ArchiveError::NotAFile { .. } => (
            "a regular file".to_owned(),
            "name the file itself in the members of the artifact",
        ),
        ArchiveError::Missing(_) | ArchiveError::Broken(_) => (
            format!("a {} with these members", artifact.format),
            "check the format and members of the artifact in the document",
        ),
    };
    Failure::new(
        Code::BlobMismatch,
        format!("the archive for `{}` was rejected", artifact.destination),
        remedy,
    )
    .values(wanted, error.to_string())
}

type Target = (HostPath, Access);

/// Writes a member to each of its targets and returns its hash.
fn write_member(
    context: &KindContext<'_>,
    targets: &[Target],
    reader: &mut dyn Read,
) -> Result<Sha256> {
    let Some(((first, access), others)) = targets.split_first() else {
        return Ok(Sha256::of(b""));
    };
    create_parents(context.platform, first)?;
    let mut hashing = Hashing {
        reader,
        hasher: sha2::Sha256::new(),
    };
    context.platform.write(first, &mut hashing, form(*access))?;
    for (other, access) in others {
        create_parents(context.platform, other)?;
        context
            .platform
            .write(other, &mut context.platform.open(first)?, form(*access))?;
    }
    Ok(Sha256::from_bytes(hashing.hasher.finalize().into()))
}

/// Restores files that only an earlier version of the artifact had.
fn remove_dropped(artifact: &Artifact, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
    let Prior::Artifact { targets, .. } = prior else {
        return Err(wrong_prior("an artifact", prior));
    };
    let kept = artifact.targets().map_err(invalid_path)?;
    let dropped = |(path, _): &(&HostPath, &Option<SavedFile>)| !kept.contains_key(*path);
    for (path, saved) in targets.iter().filter(dropped) {
        restore(context, path, saved.as_ref())?;
    }
    Ok(())
}

struct Hashing<'a> {
    reader: &'a mut dyn Read,
    hasher: sha2::Sha256,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
