//! Entries of the lock file.

use std::fmt;

use camino::Utf8PathBuf;
use casement_catalog::System;
use casement_resource::Sha256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Catalog,
    File,
    /// A checksum file next to the download.
    Mirror,
    /// Trust on first use: the hash of the download itself.
    Download,
}

impl Origin {
    pub const ALL: &'static [Self] = &[Self::Catalog, Self::File, Self::Mirror, Self::Download];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::File => "file",
            Self::Mirror => "mirror",
            Self::Download => "download",
        }
    }

    /// Whether the hash comes from the server of the download.
    pub const fn is_unverified(self) -> bool {
        matches!(self, Self::Mirror | Self::Download)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Published {
        version: String,
        /// The original URL, even if a mirror is used.
        url: String,
    },
    Own {
        /// Relative to the lock file if below its directory.
        path: Utf8PathBuf,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The artifact, or the program for a local build.
    pub name: String,
    pub system: System,
    pub content: Content,
    pub sha256: Sha256,
    /// Where the hash was found.
    pub from: Origin,
    pub source: String,
    /// Not accepted by a user yet.
    pub unverified: bool,
}

impl Entry {
    pub fn version(&self) -> Option<&str> {
        match &self.content {
            Content::Published { version, .. } => Some(version),
            Content::Own { .. } => None,
        }
    }
}
