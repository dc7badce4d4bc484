//! The tables in words, for people and for other programs to read.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

mod tables;

/// A table of text; the last column says where each row is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub columns: &'static [&'static str],
    /// The rows, each as long as the columns.
    pub rows: Vec<Vec<String>>,
}

/// A sequence of mappings from column to cell.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            sequence.serialize_element(&Row(self.columns, row))?;
        }
        sequence.end()
    }
}

struct Row<'a>(&'a [&'static str], &'a [String]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut mapping = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            mapping.serialize_entry(column, cell)?;
        }
        mapping.end()
    }
}

/// What there is a table of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Releases of Windows Server.
    Windows,
    /// Images and hosts.
    Images,
    /// The pause image.
    Pause,
    /// Kubernetes and Windows.
    Kubernetes,
    /// Kubernetes and containerd.
    Containerd,
    /// The lines of containerd.
    ContainerdReleases,
    /// Versions of a cluster's parts.
    Skew,
    /// Flags of kubelet and kube-proxy.
    Flags,
    /// Feature gates.
    Gates,
    /// What else changed between releases.
    Changes,
    /// Faults that a patch release mended.
    Patches,
    /// The host networking service.
    Hns,
    /// Updates that a node needs.
    Updates,
    /// Updates that break a node.
    KnownBad,
    /// Downloads.
    Artifacts,
    /// Hashes of downloads.
    Hashes,
}

impl Topic {
    /// All of them, in the order in which a person is told of them.
    pub const ALL: &'static [Self] = &[
        Self::Kubernetes,
        Self::Windows,
        Self::Images,
        Self::Pause,
        Self::Containerd,
        Self::ContainerdReleases,
        Self::Skew,
        Self::Flags,
        Self::Gates,
        Self::Changes,
        Self::Patches,
        Self::Hns,
        Self::Updates,
        Self::KnownBad,
        Self::Artifacts,
        Self::Hashes,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What its table says, in a line.
    pub const fn summary(self) -> &'static str {
        self.words().1
    }

    /// The topic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|topic| topic.name() == name)
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Kubernetes => (
                "kubernetes",
                "which Windows Server a Kubernetes release supports",
            ),
            Self::Windows => (
                "windows",
                "releases of Windows Server, their builds and image tags",
            ),
            Self::Images => (
                "images",
                "which images a Windows host runs in process isolation",
            ),
            Self::Pause => ("pause", "the pause image of each Kubernetes release"),
            Self::Containerd => (
                "containerd",
                "which containerd a Kubernetes release asks for",
            ),
            Self::ContainerdReleases => (
                "containerd-releases",
                "the lines of containerd and the form of their configuration",
            ),
            Self::Skew => (
                "skew",
                "how far apart the versions of a cluster's parts may be",
            ),
            Self::Flags => ("flags", "flags of kubelet and kube-proxy that came or went"),
            Self::Gates => ("gates", "feature gates, and the releases that know them"),
            Self::Changes => ("changes", "what else changed from one release to another"),
            Self::Patches => ("patches", "faults on Windows that a patch release mended"),
            Self::Hns => (
                "hns",
                "what a version of the host networking service can do",
            ),
            Self::Updates => ("updates", "updates of Windows that a node needs"),
            Self::KnownBad => (
                "known-bad",
                "updates of Windows that break a node, until which",
            ),
            Self::Artifacts => (
                "artifacts",
                "downloads: their addresses and default versions",
            ),
            Self::Hashes => ("hashes", "hashes of downloads that the catalog vouches for"),
        }
    }

    /// Its table.
    pub fn table(self) -> Table {
        tables::table(self)
    }
}

#[cfg(test)]
mod tests;
