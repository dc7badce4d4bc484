//! `image`: an image that is pulled before a pod needs it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Condition, Diff, HostPath};

/// An image that should exist under all of its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// The name that pods use.
    pub name: String,
    /// Additional names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub store: ImageStore,
    pub source: ImageSource,
    /// Whether it must match the host's Windows build.
    pub check_build: bool,
    /// A command that must succeed in the image once: only that proves that the host's
    /// kernel can run it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub try_out: Vec<String>,
    /// Limit for each part of the work.
    pub timeout_seconds: u32,
}

/// The container runtime and its command-line program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImageStore {
    /// containerd, through `ctr`.
    #[serde(rename_all = "camelCase")]
    Containerd {
        ctr: HostPath,
        /// containerd's address.
        address: String,
        /// The folder with the registry configuration.
        registries: HostPath,
        /// Must be met before the first request.
        ready: Condition,
    },
    /// Docker, through `docker`.
    #[serde(rename_all = "camelCase")]
    Docker {
        docker: HostPath,
        /// Must be met before the first request.
        ready: Condition,
    },
}

impl ImageStore {
    #[must_use]
    pub fn program(&self) -> &HostPath {
        match self {
            Self::Containerd { ctr, .. } => ctr,
            Self::Docker { docker, .. } => docker,
        }
    }

    /// Must be met before the first request.
    #[must_use]
    pub fn ready(&self) -> &Condition {
        match self {
            Self::Containerd { ready, .. } | Self::Docker { ready, .. } => ready,
        }
    }
}

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImageSource {
    /// The registry in the image's name.
    Registry,
    /// A folder on the host with a `Dockerfile`.
    Folder(HostPath),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageFacts {
    /// The names that exist completely, each with its image id. Empty while the runtime
    /// is unavailable.
    pub names: BTreeMap<String, String>,
}

impl Image {
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.tags)
    }

    #[must_use]
    pub fn diff(&self, facts: &ImageFacts) -> Diff {
        let Some(id) = facts.names.get(&self.name) else {
            let all = self.names().cloned().collect::<Vec<_>>().join(", ");
            return Diff::Changes(vec![Change::missing("image", all)]);
        };
        let mut changes = Vec::new();
        for tag in &self.tags {
            match facts.names.get(tag) {
                Some(found) if found == id => {}
                Some(found) => changes.push(Change::field(tag, found, id)),
                None => changes.push(Change::missing(tag, id)),
            }
        }
        Diff::from_changes(changes, || format!("present, {}", short(id)))
    }
}

/// The first digits of a digest.
fn short(id: &str) -> String {
    let digits = id.rsplit(':').next().unwrap_or(id);
    digits.chars().take(12).collect()
}

/// A Windows version: `10.0.20348.3807`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowsVersion {
    /// Major and minor, usually 10 and 0.
    pub release: (u32, u32),
    /// Must match the container's.
    pub build: u32,
    /// The update revision (UBR).
    pub revision: u32,
}

/// From this build on, a host also runs older builds, down to this one.
const FIRST_BACKWARD_COMPATIBLE: u32 = 20348;

impl WindowsVersion {
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split('.').map(|part| part.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            release: (next()?, next()?),
            build: next()?,
            revision: next().unwrap_or(0),
        })
    }

    /// Whether a container of another version runs here with process isolation.
    #[must_use]
    pub fn can_run(self, container: Self) -> bool {
        let (host, image) = (self.build, container.build);
        let fits = if host < FIRST_BACKWARD_COMPATIBLE {
            host == image
        } else {
            (FIRST_BACKWARD_COMPATIBLE..=host).contains(&image)
        };
        fits && self.release == container.release
    }
}

impl fmt::Display for WindowsVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.release;
        write!(
            formatter,
            "{major}.{minor}.{}.{}",
            self.build, self.revision
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(tags: &[&str]) -> Image {
        Image {
            name: "r/a:1".to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            store: ImageStore::Docker {
                docker: r"C:\docker.exe".parse().unwrap(),
                ready: Condition::ServiceRunning("docker".to_owned()),
            },
            source: ImageSource::Registry,
            check_build: true,
            try_out: Vec::new(),
            timeout_seconds: 60,
        }
    }

    fn facts(names: &[(&str, &str)]) -> ImageFacts {
        let names = names.iter();
        ImageFacts {
            names: names
                .map(|(name, id)| ((*name).to_owned(), (*id).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn every_name_has_the_same_id() {
        let plain = image(&[]);
        assert!(!plain.diff(&facts(&[])).in_sync());
        assert!(plain.diff(&facts(&[("r/a:1", "sha256:12")])).in_sync());
        let tagged = image(&["r/a:latest"]);
        let same = facts(&[("r/a:1", "sha256:12"), ("r/a:latest", "sha256:12")]);
        assert!(tagged.diff(&same).in_sync());
        let other = facts(&[("r/a:1", "sha256:12"), ("r/a:latest", "sha256:13")]);
        assert!(!tagged.diff(&other).in_sync());
        let none = facts(&[("r/a:1", "sha256:12")]);
        assert!(!tagged.diff(&none).in_sync());
    }

    #[test]
    fn a_host_runs_its_own_build_and_since_2022_older_ones() {
        let version = |text: &str| WindowsVersion::read(text).unwrap();
        let can_run = |host: &str, image: &str| version(host).can_run(version(image));
        assert!(can_run("10.0.17763.1", "10.0.17763.5000"));
        assert!(!can_run("10.0.17763.1", "10.0.14393.1"));
        assert!(!can_run("10.0.20348.1", "10.0.17763.1"));
        assert!(can_run("10.0.26100.1", "10.0.20348.3807"));
        assert!(!can_run("10.0.20348.1", "10.0.26100.1"));
        assert_eq!(version("10.0.20348").revision, 0);
        assert_eq!(WindowsVersion::read("10.x"), None);
    }
}
