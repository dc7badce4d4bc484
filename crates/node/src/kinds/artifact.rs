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
use super::directory::{in_the_way, make_parents, missing, remove_made_parents};
use super::file::{digest_file, observe, restore, save};
use super::{Kind, Place, bad_path, wrong_prior};
use crate::platform::{Form, Result};
use crate::state::{read, state_failure, write_durably};

impl Kind for Artifact {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let known = known_hashes(self, at)?;
        let accesses = self.accesses().map_err(bad_path)?;
        let mut targets = BTreeMap::new();
        for (path, member) in self.targets().map_err(bad_path)? {
            let wanted = match member {
                None => Some(self.sha256),
                Some(member) => known.get(member).copied(),
            };
            let found = match observe(at.platform, &path)? {
                FileFacts::Absent => None,
                FileFacts::InTheWay => return Err(in_the_way(&path, "a plain file")),
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

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let nothing = Prior::Artifact {
            missing: Vec::new(),
            targets: BTreeMap::new(),
        };
        self.extend(at, &nothing)
    }

    fn extend(&self, at: &Place<'_>, earlier: &Prior) -> Result<Prior> {
        let Prior::Artifact {
            missing: absent,
            targets,
        } = earlier
        else {
            return Err(wrong_prior("an artifact", earlier));
        };
        let (mut absent, mut targets) = (absent.clone(), targets.clone());
        for path in self.targets().map_err(bad_path)?.into_keys() {
            if targets.contains_key(&path) {
                continue;
            }
            for folder in missing(at, path.parent())? {
                if !absent.contains(&folder) {
                    absent.push(folder);
                }
            }
            let saved = save(at, &path, Access::Inherited)?;
            targets.insert(path, saved);
        }
        Ok(Prior::Artifact {
            missing: absent,
            targets,
        })
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        check_blob(self, at)?;
        if self.format == ArtifactFormat::Plain {
            make_parents(at.platform, &self.destination)?;
            let mut blob = open_blob(self, at)?;
            return at
                .platform
                .write(&self.destination, &mut blob, form(self.access));
        }
        unpack(self, at)?;
        remove_dropped(self, at, prior)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Artifact { missing, targets } = prior else {
            return Err(wrong_prior("an artifact", prior));
        };
        for (path, saved) in targets {
            restore(at, path, saved.as_ref())?;
        }
        for folder in missing.iter().rev() {
            let folder = std::slice::from_ref(folder);
            remove_made_parents(at, folder, &self.destination)?;
        }
        Ok(())
    }
}

/// A program, unless its mode says otherwise.
fn form(access: Access) -> Form {
    Form {
        access,
        executable: true,
    }
}

/// What members hash to, as it was found when the archive was last unpacked.
fn known_hashes(artifact: &Artifact, at: &Place<'_>) -> Result<BTreeMap<String, Sha256>> {
    if artifact.format == ArtifactFormat::Plain {
        return Ok(BTreeMap::new());
    }
    let bytes = read(&at.layout.unpacked(&artifact.sha256))?;
    // One that cannot be read is as good as none: the archive is unpacked anew.
    Ok(bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default())
}

fn check_blob(artifact: &Artifact, at: &Place<'_>) -> Result<()> {
    let path = at.layout.blob(&artifact.sha256);
    let wanted = format!("sha256 {}, {} bytes", artifact.sha256, artifact.size);
    match digest_file(&path)? {
        None => Err(Failure::new(
            Code::BlobMissing,
            format!("the blob for `{}` is not on the host", artifact.destination),
            "apply again: casement copies what is missing",
        )
        .values(wanted, "nothing")),
        Some((sha256, size)) if sha256 == artifact.sha256 && size == artifact.size => Ok(()),
        Some((sha256, size)) => {
            crate::state::delete(&path)?;
            Err(Failure::new(
                Code::BlobWrong,
                format!(
                    "the blob for `{}` is not what it should be",
                    artifact.destination
                ),
                "apply again: casement copies it anew",
            )
            .values(wanted, format!("sha256 {sha256}, {size} bytes")))
        }
    }
}

fn open_blob(artifact: &Artifact, at: &Place<'_>) -> Result<fs::File> {
    let path = at.layout.blob(&artifact.sha256);
    fs::File::open(&path).map_err(|error| state_failure("read", &path, &error))
}

fn unpack(artifact: &Artifact, at: &Place<'_>) -> Result<()> {
    let accesses = artifact.accesses().map_err(bad_path)?;
    let mut by_member: BTreeMap<&str, Vec<Target>> = BTreeMap::new();
    for (path, member) in artifact.targets().map_err(bad_path)? {
        let access = accesses.get(&path).copied().unwrap_or_default();
        by_member
            .entry(member.unwrap_or_default())
            .or_default()
            .push((path, access));
    }
    let wanted = by_member.keys().copied().collect();
    // Judged as a whole before anything of it is written.
    let mut look = |_: &str, reader: &mut dyn Read| io::copy(reader, &mut io::sink()).map(drop);
    members(open_blob(artifact, at)?, artifact, &wanted, &mut look)
        .map_err(|error| unusable(artifact, &error))?;
    let mut hashes = known_hashes(artifact, at)?;
    let mut failure = None;
    let mut take = |name: &str, reader: &mut dyn Read| {
        let paths = by_member.get(name).map(Vec::as_slice).unwrap_or_default();
        match put(at, paths, reader) {
            Ok(sha256) => {
                hashes.insert(name.to_owned(), sha256);
                Ok(())
            }
            Err(first) => {
                failure = Some(first);
                Err(io::Error::other("a member could not be written"))
            }
        }
    };
    let result = members(open_blob(artifact, at)?, artifact, &wanted, &mut take);
    if let Some(failure) = failure {
        return Err(failure);
    }
    result.map_err(|error| unusable(artifact, &error))?;
    let json = serde_json::to_vec(&hashes).unwrap_or_default();
    write_durably(&at.layout.unpacked(&artifact.sha256), &json)
}

/// What is wrong with an archive; nothing of it was written.
fn unusable(artifact: &Artifact, error: &ArchiveError) -> Failure {
    let limits = artifact.unpack_limits();
    let (wanted, remedy) = match error {
        ArchiveError::TooLarge => (
            format!(
                "at most {} bytes out of a blob of {}",
                limits.bytes, artifact.size
            ),
            "this archive was made to fill disks: find out where it comes from",
        ),
        ArchiveError::TooMany(_) => (
            format!(
                "at most {} entries in a blob of {} bytes",
                limits.entries, artifact.size
            ),
            "this archive was made to fill disks: find out where it comes from",
        ),
        ArchiveError::Escapes(_) => (
            "names below the folder".to_owned(),
            "this archive was made to do harm: find out where it comes from",
        ),
        ArchiveError::NoFile { .. } => (
            "a plain file".to_owned(),
            "name the file itself in the artifact's members",
        ),
        ArchiveError::Missing(_) | ArchiveError::Broken(_) => (
            format!("a {} with these members", artifact.format),
            "check the artifact's format and members in the document",
        ),
    };
    Failure::new(
        Code::BlobWrong,
        format!(
            "the archive for `{}` will not be unpacked",
            artifact.destination
        ),
        remedy,
    )
    .values(wanted, error.to_string())
}

/// Where a member goes, and who may use it there.
type Target = (HostPath, Access);

/// Writes a member to each of its targets and gives its hash.
fn put(at: &Place<'_>, targets: &[Target], reader: &mut dyn Read) -> Result<Sha256> {
    let Some(((first, access), others)) = targets.split_first() else {
        return Ok(Sha256::of(b""));
    };
    make_parents(at.platform, first)?;
    let mut hashing = Hashing {
        reader,
        hasher: sha2::Sha256::new(),
    };
    at.platform.write(first, &mut hashing, form(*access))?;
    for (other, access) in others {
        make_parents(at.platform, other)?;
        at.platform
            .write(other, &mut at.platform.open(first)?, form(*access))?;
    }
    Ok(Sha256::from_bytes(hashing.hasher.finalize().into()))
}

/// Files that an earlier version of the artifact put there and this one does not.
fn remove_dropped(artifact: &Artifact, at: &Place<'_>, prior: &Prior) -> Result<()> {
    let Prior::Artifact { targets, .. } = prior else {
        return Err(wrong_prior("an artifact", prior));
    };
    let kept = artifact.targets().map_err(bad_path)?;
    let dropped = |(path, _): &(&HostPath, &Option<SavedFile>)| !kept.contains_key(*path);
    for (path, saved) in targets.iter().filter(dropped) {
        restore(at, path, saved.as_ref())?;
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
