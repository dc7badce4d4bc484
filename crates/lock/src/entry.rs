//! One pinned download.

use std::fmt;

use camino::Utf8PathBuf;
use casement_catalog::System;
use casement_resource::Sha256;

/// Who says what a hash is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// casement's own catalog.
    Catalog,
    /// The file was here, and was hashed.
    File,
    /// A file of sums beside the download.
    Mirror,
    /// Nobody: the download itself was hashed.
    Download,
}

impl Origin {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Catalog, Self::File, Self::Mirror, Self::Download];

    /// As it is written in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::File => "file",
            Self::Mirror => "mirror",
            Self::Download => "download",
        }
    }

    /// Whether only the place that serves the download vouches for it.
    pub const fn is_unverified(self) -> bool {
        matches!(self, Self::Mirror | Self::Download)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A release that somebody publishes.
    Published {
        /// Its version.
        version: String,
        /// Its own address, whichever mirror it is fetched from.
        url: String,
    },
    /// One's own build.
    Own {
        /// The file, from the lock file's folder if it is in there.
        path: Utf8PathBuf,
    },
}

/// One line of the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The artifact's name, or the program's for one's own build.
    pub name: String,
    /// The system that it is for.
    pub system: System,
    /// What it is.
    pub content: Content,
    /// Its hash.
    pub sha256: Sha256,
    /// Who says so.
    pub from: Origin,
    /// Where it says so.
    pub source: String,
    /// Whether a person has yet to accept it.
    pub unverified: bool,
}

impl Entry {
    /// The version, if somebody publishes it.
    pub fn version(&self) -> Option<&str> {
        match &self.content {
            Content::Published { version, .. } => Some(version),
            Content::Own { .. } => None,
        }
    }
}
