//! `defenderExclusion`: what Windows Defender leaves alone.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// Something that Defender should not scan: it would hold up every layer of an
/// image and every write of the kubelet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefenderExclusion {
    /// What.
    pub exclusion: Exclusion,
}

/// What Defender can be told to leave alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Exclusion {
    /// A folder and what is in it.
    Path(String),
    /// A program, by its full path: what it opens is not scanned.
    Process(String),
}

impl fmt::Display for Exclusion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(formatter, "path {path}"),
            Self::Process(path) => write!(formatter, "process {path}"),
        }
    }
}

/// An exclusion as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DefenderFacts {
    /// There is no Defender on this host.
    Absent,
    /// It leaves this alone.
    Excluded,
    /// It scans this.
    Scanned,
}

impl DefenderExclusion {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: DefenderFacts) -> Diff {
        match facts {
            DefenderFacts::Absent => Diff::right("the host has no Defender"),
            DefenderFacts::Excluded => Diff::right(format!("{} is not scanned", self.exclusion)),
            DefenderFacts::Scanned => {
                Diff::Changes(vec![Change::missing("exclusion", &self.exclusion)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_defender_needs_nothing() {
        let exclusion = DefenderExclusion {
            exclusion: Exclusion::Path(r"C:\k".to_owned()),
        };
        assert!(exclusion.diff(DefenderFacts::Absent).is_right());
        assert!(exclusion.diff(DefenderFacts::Excluded).is_right());
        assert!(!exclusion.diff(DefenderFacts::Scanned).is_right());
    }
}
