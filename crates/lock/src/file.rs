//! The lock file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use casement_catalog::System;
use casement_diag::Problem;

use crate::entry::{Content, Entry};
use crate::requirements::{RequiredContent, Requirement};
use crate::stored::{Artifact, Document, Head};

pub const FORMAT_VERSION: u32 = 1;

const HEAD: &str = "\
# Written by `casement lock`; update it with `casement lock --update`.
# `unverified`: the hash comes from the server of the download itself.
";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Not TOML, or unknown fields.
    #[error("failed to parse the lock file: {0}")]
    Syntax(String),
    #[error("lock file version {found} is not supported (supported: {FORMAT_VERSION})")]
    UnsupportedVersion { found: u32 },
    #[error("the entry `{name}` in the lock file is not valid: {reason}")]
    Entry { name: String, reason: String },
}

impl LockError {
    /// Code, cause and help.
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::Syntax(_) | Self::Entry { .. } => Problem::new(
                "CAS-LOCK-001",
                what,
                "restore the file from version control, or delete it and run `casement lock`",
            ),
            Self::UnsupportedVersion { .. } => Problem::new(
                "CAS-LOCK-002",
                what,
                "use the casement version that wrote the file, or a newer one",
            ),
        }
    }
}

/// Why an artifact must not be downloaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    Missing {
        name: String,
        system: System,
    },
    Mismatch {
        name: String,
        system: System,
        /// A version or a file.
        locked: String,
        required: String,
    },
    /// The hash comes from the server of the download and has not been accepted yet.
    Unverified {
        name: String,
        system: System,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    entries: BTreeMap<(String, System), Entry>,
}

impl Lock {
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub fn find(&self, name: &str, system: System) -> Option<&Entry> {
        self.entries.get(&(name.to_owned(), system))
    }

    pub fn gaps(&self, requirements: &[Requirement]) -> Vec<Gap> {
        requirements
            .iter()
            .filter_map(|one| self.gap(one))
            .collect()
    }

    fn gap(&self, requirement: &Requirement) -> Option<Gap> {
        let (name, system) = (requirement.name.clone(), requirement.system);
        let Some(entry) = self.find(&name, system) else {
            return Some(Gap::Missing { name, system });
        };
        let (locked, required) = match (&entry.content, &requirement.content) {
            (Content::Published { version, .. }, RequiredContent::Published(want)) => {
                (version.clone(), want.version.clone())
            }
            // The plan pins the hash of a local build.
            (Content::Own { .. }, RequiredContent::Own(_)) => return None,
            (Content::Published { version, .. }, RequiredContent::Own(path)) => {
                (version.clone(), path.to_string())
            }
            (Content::Own { path }, RequiredContent::Published(want)) => {
                (path.to_string(), want.version.clone())
            }
        };
        if locked != required {
            return Some(Gap::Mismatch {
                name,
                system,
                locked,
                required,
            });
        }
        entry.unverified.then_some(Gap::Unverified { name, system })
    }
}

impl FromIterator<Entry> for Lock {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let keyed = entries.map(|entry| ((entry.name.clone(), entry.system), entry));
        Self {
            entries: keyed.collect(),
        }
    }
}

impl FromStr for Lock {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        // The message of the parser shows the line.
        let wrong =
            |error: toml::de::Error| LockError::Syntax(error.to_string().trim_end().to_owned());
        let head: Head = toml::from_str(text).map_err(wrong)?;
        if head.version != FORMAT_VERSION {
            let found = head.version;
            return Err(LockError::UnsupportedVersion { found });
        }
        let document: Document = toml::from_str(text).map_err(wrong)?;
        let mut entries = BTreeMap::new();
        for stored in document.artifacts {
            let (name, faulty) = (stored.name().to_owned(), stored.entry());
            let entry = faulty.map_err(|reason| LockError::Entry {
                name: name.clone(),
                reason,
            })?;
            let system = entry.system;
            if entries.insert((name.clone(), system), entry).is_some() {
                let reason = format!("duplicate entry for {system}");
                return Err(LockError::Entry { name, reason });
            }
        }
        Ok(Self { entries })
    }
}

/// Sorted, one field per line, so that updates give small diffs.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = Document {
            version: FORMAT_VERSION,
            artifacts: self.entries().map(Artifact::from).collect(),
        };
        let text = toml::to_string(&document).map_err(|_| fmt::Error)?;
        write!(f, "{HEAD}{text}")
    }
}

#[cfg(test)]
mod tests;
