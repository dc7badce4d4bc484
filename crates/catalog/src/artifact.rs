//! What a node is made of: where it is published, in which form, and the hashes
//! that are known.

use std::fmt;

use semver::Version;

use crate::containerd::recommended_containerd;
use crate::minor::Minor;

/// The two kinds of operating system that hosts run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// Any Linux, amd64.
    Linux,
    /// Any Windows Server, amd64.
    Windows,
}

impl System {
    /// As it is written in files.
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

/// How a download is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// The program itself.
    Plain,
    /// A tar archive, compressed with gzip.
    TarGz,
    /// A zip archive.
    Zip,
}

/// Where a publisher says what the hash of a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sums {
    /// In a file of the download's name and this ending, as SHA-256.
    Ending(&'static str),
    /// In a file of this name in the same folder, as SHA-256, with other downloads.
    Beside(&'static str),
    /// Nowhere.
    Nowhere,
}

/// How its releases are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// As Kubernetes.
    Kubernetes,
    /// As Kubernetes, but only the minor release.
    KubernetesMinor,
    /// As the containerd that goes with Kubernetes.
    Containerd,
    /// By itself; this is the one that casement takes.
    Own(&'static str),
}

/// One thing that is downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name.
    pub name: &'static str,
    /// The system that it is for.
    pub system: System,
    /// Its address, with `{version}` in it.
    pub url: &'static str,
    /// How it is packed.
    pub packing: Packing,
    /// The programs in it that nodes need, without `.exe`.
    pub programs: &'static [&'static str],
    /// Where its hash is published.
    pub sums: Sums,
    /// Which release is taken.
    pub numbering: Numbering,
    /// Where it says so.
    pub source: &'static str,
}

impl Artifact {
    /// The address of one version.
    pub fn url_of(&self, version: &str) -> String {
        self.url.replace("{version}", version)
    }

    /// The address of the file that holds the hash of one version.
    pub fn sums_url(&self, version: &str) -> Option<String> {
        let url = self.url_of(version);
        match self.sums {
            Sums::Ending(ending) => Some(format!("{url}{ending}")),
            Sums::Beside(name) => {
                let (folder, _) = url.rsplit_once('/')?;
                Some(format!("{folder}/{name}"))
            }
            Sums::Nowhere => None,
        }
    }

    /// The version that is taken for a Kubernetes release when nothing is said.
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

/// An artifact by its name and system.
pub fn artifact(name: &str, system: System) -> Option<&'static Artifact> {
    let mut all = ARTIFACTS.iter();
    all.find(|artifact| artifact.name == name && artifact.system == system)
}

#[cfg(test)]
mod tests;
