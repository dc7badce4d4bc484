//! The tables as text and JSON.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

mod tables;

/// A table of text; the last column is the source of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub columns: &'static [&'static str],
    pub rows: Vec<Vec<String>>,
}

/// An array of objects.
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
            mapping.serialize_entry(&field(column), cell)?;
        }
        mapping.end()
    }
}

/// The JSON key of a column: `built for` becomes `builtFor`.
fn field(column: &str) -> String {
    let mut words = column.split(' ');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters);
    }
    name
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    Windows,
    Images,
    Pause,
    Kubernetes,
    Containerd,
    ContainerdReleases,
    Skew,
    Flags,
    Fields,
    Gates,
    Changes,
    Patches,
    Hns,
    Updates,
    KnownBad,
    Artifacts,
    Hashes,
}

impl Topic {
    /// In display order.
    pub const ALL: &'static [Self] = &[
        Self::Kubernetes,
        Self::Windows,
        Self::Images,
        Self::Pause,
        Self::Containerd,
        Self::ContainerdReleases,
        Self::Skew,
        Self::Flags,
        Self::Fields,
        Self::Gates,
        Self::Changes,
        Self::Patches,
        Self::Hns,
        Self::Updates,
        Self::KnownBad,
        Self::Artifacts,
        Self::Hashes,
    ];

    pub const fn name(self) -> &'static str {
        self.words().0
    }

    pub const fn summary(self) -> &'static str {
        self.words().1
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|topic| topic.name() == name)
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Kubernetes => (
                "kubernetes",
                "Windows Server releases supported by each Kubernetes release",
            ),
            Self::Windows => (
                "windows",
                "Windows Server releases with builds and image tags",
            ),
            Self::Images => (
                "images",
                "images that a Windows host can run with process isolation",
            ),
            Self::Pause => ("pause", "pause image of each Kubernetes release"),
            Self::Containerd => (
                "containerd",
                "containerd releases recommended for each Kubernetes release",
            ),
            Self::ContainerdReleases => (
                "containerd-releases",
                "containerd series and their configuration format",
            ),
            Self::Skew => ("skew", "supported version skew between components"),
            Self::Flags => ("flags", "kubelet and kube-proxy flags by release"),
            Self::Fields => (
                "fields",
                "kubelet and kube-proxy configuration fields by release",
            ),
            Self::Gates => ("gates", "feature gates by release"),
            Self::Changes => ("changes", "other behavior changes between releases"),
            Self::Patches => ("patches", "issues on Windows fixed by a patch release"),
            Self::Hns => ("hns", "features of the host networking service by version"),
            Self::Updates => ("updates", "Windows updates required by nodes"),
            Self::KnownBad => (
                "known-bad",
                "Windows updates that break nodes, with the fix",
            ),
            Self::Artifacts => ("artifacts", "downloads with URLs and default versions"),
            Self::Hashes => ("hashes", "download hashes known to the catalog"),
        }
    }

    pub fn table(self) -> Table {
        tables::table(self)
    }
}

#[cfg(test)]
mod tests;
