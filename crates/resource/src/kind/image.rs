//! `image`: an image that is on the host before a pod asks for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Condition, Diff, HostPath};

/// An image that the host should have, under all of its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// As pods name it.
    pub name: String,
    /// Other names that it should have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Who keeps it.
    pub store: ImageStore,
    /// Where it comes from.
    pub source: ImageSource,
    /// Whether it must be made for the host's build of Windows.
    pub check_build: bool,
    /// What is run in it once, and must end well: only that shows that the
    /// host's kernel can carry it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub try_out: Vec<String>,
    /// For how long each part of it may take.
    pub timeout_seconds: u32,
}

/// Who keeps the images, and the program that speaks to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImageStore {
    /// containerd, through its own `ctr`.
    #[serde(rename_all = "camelCase")]
    Containerd {
        /// The program.
        ctr: HostPath,
        /// Where containerd is spoken to.
        address: String,
        /// The folder that says how registries are reached.
        registries: HostPath,
        /// What must be so before it can be asked.
        ready: Condition,
    },
    /// Docker, through its own `docker`.
    #[serde(rename_all = "camelCase")]
    Docker {
        /// The program.
        docker: HostPath,
        /// What must be so before it can be asked.
        ready: Condition,
    },
}

impl ImageStore {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &HostPath {
        match self {
            Self::Containerd { ctr, .. } => ctr,
            Self::Docker { docker, .. } => docker,
        }
    }

    /// What must be so before it can be asked.
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
    /// The registry that its name begins with.
    Registry,
    /// A folder on the host with a `Dockerfile`.
    Folder(HostPath),
}

/// An image as found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageFacts {
    /// Those of its names that are there and whole, each with what it stands
    /// for. Empty while its keeper cannot be asked.
    pub names: BTreeMap<String, String>,
}

impl Image {
    /// All of its names, its own first.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.tags)
    }

    /// What is to change.
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
        Diff::from_changes(changes, || format!("there, {}", short(id)))
    }
}

/// The beginning of a digest, as people tell them apart.
fn short(id: &str) -> String {
    let digits = id.rsplit(':').next().unwrap_or(id);
    digits.chars().take(12).collect()
}

/// The version of a Windows: `10.0.20348.3807`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowsVersion {
    /// Usually 10 and 0.
    pub release: (u32, u32),
    /// What containers must fit.
    pub build: u32,
    /// What updates count up (UBR).
    pub revision: u32,
}

/// Since this build a host carries older ones too, down to it.
const FIRST_THAT_CARRIES_OLDER: u32 = 20348;

impl WindowsVersion {
    /// Reads one; the revision may be left out.
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

    /// Whether a container of another version runs on this one without a
    /// virtual machine of its own.
    #[must_use]
    pub fn carries(self, container: Self) -> bool {
        let (host, image) = (self.build, container.build);
        let fits = if host < FIRST_THAT_CARRIES_OLDER {
            host == image
        } else {
            (FIRST_THAT_CARRIES_OLDER..=host).contains(&image)
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
    fn every_name_stands_for_the_same() {
        let plain = image(&[]);
        assert!(!plain.diff(&facts(&[])).is_right());
        assert!(plain.diff(&facts(&[("r/a:1", "sha256:12")])).is_right());
        let tagged = image(&["r/a:latest"]);
        let same = facts(&[("r/a:1", "sha256:12"), ("r/a:latest", "sha256:12")]);
        assert!(tagged.diff(&same).is_right());
        let other = facts(&[("r/a:1", "sha256:12"), ("r/a:latest", "sha256:13")]);
        assert!(!tagged.diff(&other).is_right());
        let none = facts(&[("r/a:1", "sha256:12")]);
        assert!(!tagged.diff(&none).is_right());
    }

    #[test]
    fn a_host_carries_its_own_build_and_since_2022_older_ones() {
        let version = |text: &str| WindowsVersion::read(text).unwrap();
        let carries = |host: &str, image: &str| version(host).carries(version(image));
        assert!(carries("10.0.17763.1", "10.0.17763.5000"));
        assert!(!carries("10.0.17763.1", "10.0.14393.1"));
        assert!(!carries("10.0.20348.1", "10.0.17763.1"));
        assert!(carries("10.0.26100.1", "10.0.20348.3807"));
        assert!(!carries("10.0.20348.1", "10.0.26100.1"));
        assert_eq!(version("10.0.20348").revision, 0);
        assert_eq!(WindowsVersion::read("10.x"), None);
    }
}
