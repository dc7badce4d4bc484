//! Archives: files out of a tar.gz or a zip, by name.
//!
//! Only what the document names is ever written, and to where the document
//! says. An archive that holds more than it may, or names that lead out of a
//! folder, is refused all the same: nobody packs such a thing by accident.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};

use casement_resource::{Artifact, ArtifactFormat, UnpackLimits};
use flate2::read::GzDecoder;

/// What is done with each member that is found.
pub type Take<'a> = dyn FnMut(&str, &mut dyn Read) -> io::Result<()> + 'a;

/// Why an archive is not what it should be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be read to its end.
    #[error("{0}")]
    Broken(String),
    /// It unpacks to more than it may.
    #[error("it unpacks to more")]
    TooLarge,
    /// It has more entries than it may.
    #[error("it has {0} or more")]
    TooMany(u64),
    /// A name that leads out of the folder that it is unpacked in.
    #[error("its entry `{0}` leads out of the folder")]
    Escapes(String),
    /// A member that is wanted, and is no file.
    #[error("its entry `{name}` is {what}")]
    NoFile {
        /// Its name.
        name: String,
        /// What it is instead.
        what: &'static str,
    },
    /// Members that are wanted, and are not in it.
    #[error("it has no `{}`", .0.join("`, `"))]
    Missing(Vec<String>),
}

/// An entry as its archive describes it.
struct Entry<'a> {
    name: &'a str,
    /// None is a plain file.
    other: Option<&'static str>,
}

/// Gives each wanted member, once, to `take`. Reads the archive to its end
/// whatever is wanted of it, so that it is judged as a whole.
pub fn members(
    blob: File,
    artifact: &Artifact,
    wanted: &BTreeSet<&str>,
    take: &mut Take<'_>,
) -> Result<(), ArchiveError> {
    let mut visit = Visit {
        limits: artifact.unpack_limits(),
        for_windows: artifact.destination.is_windows(),
        entries: 0,
        left: wanted.clone(),
        take,
    };
    let unpacked = Cell::new(0);
    match artifact.format {
        ArtifactFormat::Plain => {}
        ArtifactFormat::TarGz => visit.tar(blob, &unpacked)?,
        ArtifactFormat::Zip => visit.zip(blob, &unpacked)?,
    }
    if visit.left.is_empty() {
        return Ok(());
    }
    let names = visit.left.into_iter().map(str::to_owned);
    Err(ArchiveError::Missing(names.collect()))
}

struct Visit<'a, 'b, 'c> {
    limits: UnpackLimits,
    for_windows: bool,
    entries: u64,
    left: BTreeSet<&'a str>,
    take: &'b mut Take<'c>,
}

impl Visit<'_, '_, '_> {
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
                name: plain(&name),
                other: match kind {
                    tar::EntryType::Regular | tar::EntryType::Continuous => None,
                    tar::EntryType::Symlink => Some("a symbolic link"),
                    tar::EntryType::Link => Some("a hard link"),
                    tar::EntryType::Directory => Some("a folder"),
                    _ => Some("no file"),
                },
            };
            if self.is_wanted(&described)? {
                (self.take)(described.name, &mut entry).map_err(broken)?;
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
                name: plain(&name),
                other: match (entry.is_dir(), entry.is_symlink()) {
                    (true, _) => Some("a folder"),
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
                (self.take)(described.name, &mut reader).map_err(broken)?;
            } else {
                io::copy(&mut reader, &mut io::sink()).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// Judges an entry; says whether it is to be taken.
    fn is_wanted(&mut self, entry: &Entry<'_>) -> Result<bool, ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(ArchiveError::TooMany(self.entries));
        }
        if escapes(entry.name, self.for_windows) {
            return Err(ArchiveError::Escapes(entry.name.to_owned()));
        }
        if !self.left.contains(entry.name) {
            return Ok(false);
        }
        if let Some(what) = entry.other {
            let name = entry.name.to_owned();
            return Err(ArchiveError::NoFile { name, what });
        }
        self.left.remove(entry.name);
        Ok(true)
    }
}

/// What reading failed with, or the reason behind it.
fn broken(error: io::Error, unpacked: &Cell<u64>, limits: UnpackLimits) -> ArchiveError {
    if unpacked.get() > limits.bytes {
        return ArchiveError::TooLarge;
    }
    ArchiveError::Broken(error.to_string())
}

/// Reads no more than may be read of all entries together.
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
            return Err(io::Error::other("more than may be unpacked"));
        }
        Ok(count)
    }
}

fn plain(name: &str) -> &str {
    name.trim_start_matches("./")
}

/// Whether a name, unpacked as it stands, could end up outside of its folder:
/// absolute, upwards, or for Windows with a drive or a stream of another file.
fn escapes(name: &str, for_windows: bool) -> bool {
    name.starts_with(['/', '\\'])
        || (for_windows && name.contains(':'))
        || name.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests;
