//! Extracts named files from a tar.gz or a zip.
//!
//! Only members that the document names are written, to the paths that it names.
//! An archive above the limits, or with a name that escapes its folder, is
//! rejected as a whole: it was not created by accident.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};

use casement_resource::{Artifact, ArtifactFormat, UnpackLimits};
use flate2::read::GzDecoder;

/// Called with each wanted member.
pub type OnMember<'a> = dyn FnMut(&str, &mut dyn Read) -> io::Result<()> + 'a;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    #[error("{0}")]
    Broken(String),
    #[error("the unpacked size exceeds the limit")]
    TooLarge,
    #[error("at least {0} entries")]
    TooMany(u64),
    /// A name that points outside the directory it is unpacked to.
    #[error("entry `{0}` points outside the directory")]
    Escapes(String),
    /// A wanted member that is not a regular file.
    #[error("entry `{name}` is {what}")]
    NotAFile { name: String, what: &'static str },
    #[error("not in the archive: `{}`", .0.join("`, `"))]
    Missing(Vec<String>),
}

struct Entry<'a> {
    name: &'a str,
    /// `None` for a regular file.
    other: Option<&'static str>,
}

/// Calls `on_member` once with each wanted member. Always reads the whole archive,
/// so that limits and names of all entries are checked.
pub fn members(
    blob: File,
    artifact: &Artifact,
    wanted: &BTreeSet<&str>,
    on_member: &mut OnMember<'_>,
) -> Result<(), ArchiveError> {
    let mut extraction = Extraction {
        limits: artifact.unpack_limits(),
        for_windows: artifact.destination.is_windows(),
        entries: 0,
        remaining: wanted.clone(),
        on_member,
    };
    let unpacked = Cell::new(0);
    match artifact.format {
        ArtifactFormat::Plain => {}
        ArtifactFormat::TarGz => extraction.tar(blob, &unpacked)?,
        ArtifactFormat::Zip => extraction.zip(blob, &unpacked)?,
    }
    if extraction.remaining.is_empty() {
        return Ok(());
    }
    let names = extraction.remaining.into_iter().map(str::to_owned);
    Err(ArchiveError::Missing(names.collect()))
}

struct Extraction<'a, 'b, 'c> {
    limits: UnpackLimits,
    for_windows: bool,
    entries: u64,
    remaining: BTreeSet<&'a str>,
    on_member: &'b mut OnMember<'c>,
}

impl Extraction<'_, '_, '_> {
    fn tar(&mut self, blob: File, unpacked: &Cell<u64>) -> Result<(), ArchiveError> {
        let limits = self.limits;
        let stream = Limited {
            reader: GzDecoder::new(BufReader::new(blob)),
            unpacked,
            limit: limits.bytes,
        };
        let mut archive = tar::Archive::new(stream);
        let broken = |error| self::broken(error, unpacked, limits);
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let kind = entry.header().entry_type();
            let path = entry.path_bytes().into_owned();
            let name = String::from_utf8_lossy(&path);
            let described = Entry {
                name: normalized(&name),
                other: match kind {
                    tar::EntryType::Regular | tar::EntryType::Continuous => None,
                    tar::EntryType::Symlink => Some("a symbolic link"),
                    tar::EntryType::Link => Some("a hard link"),
                    tar::EntryType::Directory => Some("a directory"),
                    _ => Some("a special file"),
                },
            };
            if self.is_wanted(&described)? {
                (self.on_member)(described.name, &mut entry).map_err(broken)?;
            }
        }
        Ok(())
    }

    fn zip(&mut self, blob: File, unpacked: &Cell<u64>) -> Result<(), ArchiveError> {
        let limits = self.limits;
        let broken = |error: io::Error| self::broken(error, unpacked, limits);
        let mut archive =
            zip::ZipArchive::new(BufReader::new(blob)).map_err(|error| broken(error.into()))?;
        for index in 0..archive.len() {
            let entry = archive
                .by_index(index)
                .map_err(|error| broken(error.into()))?;
            let name = entry.name().map_err(|error| broken(error.into()))?;
            let name = name.replace('\\', "/");
            let described = Entry {
                name: normalized(&name),
                other: match (entry.is_dir(), entry.is_symlink()) {
                    (true, _) => Some("a directory"),
                    (_, true) => Some("a symbolic link"),
                    _ => None,
                },
            };
            let wanted = self.is_wanted(&described)?;
            let mut reader = Limited {
                reader: entry,
                unpacked,
                limit: limits.bytes,
            };
            if wanted {
                (self.on_member)(described.name, &mut reader).map_err(broken)?;
            } else {
                io::copy(&mut reader, &mut io::sink()).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// Checks an entry; whether it is one of the wanted members.
    fn is_wanted(&mut self, entry: &Entry<'_>) -> Result<bool, ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(ArchiveError::TooMany(self.entries));
        }
        if escapes(entry.name, self.for_windows) {
            return Err(ArchiveError::Escapes(entry.name.to_owned()));
        }
        if !self.remaining.contains(entry.name) {
            return Ok(false);
        }
        if let Some(what) = entry.other {
            let name = entry.name.to_owned();
            return Err(ArchiveError::NotAFile { name, what });
        }
        self.remaining.remove(entry.name);
        Ok(true)
    }
}

/// A read fails at the size limit, too.
fn broken(error: io::Error, unpacked: &Cell<u64>, limits: UnpackLimits) -> ArchiveError {
    if unpacked.get() > limits.bytes {
        return ArchiveError::TooLarge;
    }
    ArchiveError::Broken(error.to_string())
}

/// Limits the unpacked size of all entries together.
struct Limited<'a, R> {
    reader: R,
    unpacked: &'a Cell<u64>,
    limit: u64,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.unpacked.set(self.unpacked.get() + count as u64);
        if self.unpacked.get() > self.limit {
            return Err(io::Error::other("unpacked size limit exceeded"));
        }
        Ok(count)
    }
}

fn normalized(name: &str) -> &str {
    name.trim_start_matches("./")
}

/// Whether a name points outside of its folder: absolute, with `..`, or on Windows
/// with a drive or an alternate data stream.
fn escapes(name: &str, for_windows: bool) -> bool {
    name.starts_with(['/', '\\'])
        || (for_windows && name.contains(':'))
        || name.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests;
