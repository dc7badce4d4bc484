//! The lock file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use casement_catalog::System;

use crate::entry::{Content, Entry};
use crate::stored::{Artifact, Document, Head};
use crate::wanted::{Wanted, WantedContent};

/// The number of the file's form.
pub const FORM: u32 = 1;

const HEAD: &str = "\
# Written by `casement lock`; `casement lock --update` writes it anew.
# `unverified`: only the place that serves it vouches for the hash.
";

/// The text is no lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is no TOML, or has fields that are not known.
    #[error("the lock file is not well-formed: {0}")]
    Form(String),
    /// A casement of another time wrote it.
    #[error("the lock file has form {found}, this casement reads form {FORM}")]
    Newer {
        /// What it says.
        found: u32,
    },
    /// An entry is wrong in itself.
    #[error("the entry `{name}` of the lock file is wrong: {reason}")]
    Entry {
        /// Whose.
        name: String,
        /// Why.
        reason: String,
    },
}

impl LockError {
    /// Stable for ever.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Entry { .. } => "CAS-LOCK-001",
            Self::Newer { .. } => "CAS-LOCK-002",
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Entry { .. } => {
                "take the file from version control again, or write it anew with casement lock --update"
            }
            Self::Newer { .. } => "use the casement that wrote it, or newer",
        }
    }
}

/// Something that the lock file does not pin as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// It is not there.
    Missing {
        /// The artifact.
        name: String,
        /// The system that it is for.
        system: System,
    },
    /// It is there for something else.
    Other {
        /// The artifact.
        name: String,
        /// The system that it is for.
        system: System,
        /// What is pinned: a version or a file.
        locked: String,
        /// What is wanted.
        wanted: String,
    },
    /// Nobody has accepted a hash that only the mirror vouches for.
    Unverified {
        /// The artifact.
        name: String,
        /// The system that it is for.
        system: System,
    },
}

/// Pinned downloads, by name and system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    entries: BTreeMap<(String, System), Entry>,
}

impl Lock {
    /// All entries, sorted.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The entry of an artifact.
    pub fn find(&self, name: &str, system: System) -> Option<&Entry> {
        self.entries.get(&(name.to_owned(), system))
    }

    /// What of `wanted` must not be fetched yet, and why.
    pub fn gaps(&self, wanted: &[Wanted]) -> Vec<Gap> {
        wanted.iter().filter_map(|one| self.gap(one)).collect()
    }

    fn gap(&self, wanted: &Wanted) -> Option<Gap> {
        let (name, system) = (wanted.name.clone(), wanted.system);
        let Some(entry) = self.find(&name, system) else {
            return Some(Gap::Missing { name, system });
        };
        let (locked, wanted) = match (&entry.content, &wanted.content) {
            (Content::Published { version, .. }, WantedContent::Published(want)) => {
                (version.clone(), want.version.clone())
            }
            // Its hash is pinned by the plan that it goes into.
            (Content::Own { .. }, WantedContent::Own(_)) => return None,
            (Content::Published { version, .. }, WantedContent::Own(path)) => {
                (version.clone(), path.to_string())
            }
            (Content::Own { path }, WantedContent::Published(want)) => {
                (path.to_string(), want.version.clone())
            }
        };
        if locked != wanted {
            return Some(Gap::Other {
                name,
                system,
                locked,
                wanted,
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
        // The parser's message shows the line and points at it.
        let wrong =
            |error: toml::de::Error| LockError::Form(error.to_string().trim_end().to_owned());
        let head: Head = toml::from_str(text).map_err(wrong)?;
        if head.version != FORM {
            let found = head.version;
            return Err(LockError::Newer { found });
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
                let reason = format!("it is there twice for {system}");
                return Err(LockError::Entry { name, reason });
            }
        }
        Ok(Self { entries })
    }
}

/// The file's text: sorted, one field a line, so that a change of one artifact is a
/// change of few lines.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = Document {
            version: FORM,
            artifacts: self.entries().map(Artifact::from).collect(),
        };
        let text = toml::to_string(&document).map_err(|_| fmt::Error)?;
        write!(f, "{HEAD}{text}")
    }
}

#[cfg(test)]
mod tests;
