//! Downloads: URLs, archive formats, default versions and known hashes.

use std::fmt;

use semver::Version;

use crate::containerd::recommended_containerd;
use crate::minor::Minor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    Linux,
    Windows,
}

impl System {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    TarGz,
    Zip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sums {
    /// A SHA-256 file with the name of the download and this suffix.
    Suffix(&'static str),
    /// A SHA-256 list with this name in the same directory.
    Beside(&'static str),
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    Kubernetes,
    /// The `.0` patch release of the same minor release.
    KubernetesMinor,
    /// The containerd release recommended for Kubernetes.
    Containerd,
    /// This release, independent of Kubernetes.
    Own(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub name: &'static str,
    pub system: System,
    /// With a `{version}` placeholder.
    pub url: &'static str,
    pub packing: Packing,
    /// The programs that nodes need, without `.exe`.
    pub programs: &'static [&'static str],
    pub sums: Sums,
    pub numbering: Numbering,
    pub source: &'static str,
}

impl Artifact {
    pub fn url_of(&self, version: &str) -> String {
        self.url.replace("{version}", version)
    }

    pub fn sums_url(&self, version: &str) -> Option<String> {
        let url = self.url_of(version);
        match self.sums {
            Sums::Suffix(ending) => Some(format!("{url}{ending}")),
            Sums::Beside(name) => {
                let (folder, _) = url.rsplit_once('/')?;
                Some(format!("{folder}/{name}"))
            }
            Sums::None => None,
        }
    }

    /// The default version for a Kubernetes release.
    pub fn version_for(&self, kubernetes: &Version) -> Option<String> {
        let minor = Minor::of(kubernetes)?;
        match self.numbering {
            Numbering::Kubernetes => Some(kubernetes.to_string()),
            Numbering::KubernetesMinor => Some(format!("{minor}.0")),
            Numbering::Containerd => {
                recommended_containerd(minor).map(|release| release.to_string())
            }
            Numbering::Own(version) => Some(version.to_owned()),
        }
    }
}

mod hashes;
mod table;

pub use hashes::{HASHES, KnownHash, known_hash};
pub use table::ARTIFACTS;

pub fn artifact(name: &str, system: System) -> Option<&'static Artifact> {
    let mut all = ARTIFACTS.iter();
    all.find(|artifact| artifact.name == name && artifact.system == system)
}

#[cfg(test)]
mod tests;
