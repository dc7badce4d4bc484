//! `defenderExclusion`: what Windows Defender does not scan.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// Scanning would slow down every image layer and every write of the kubelet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefenderExclusion {
    pub exclusion: Exclusion,
}

/// What Defender can exclude.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Exclusion {
    /// A folder, including its content.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DefenderFacts {
    /// Defender is not installed.
    Absent,
    Present {
        /// It is in the policy list.
        listed: bool,
        /// The policy list is enforced: each list has its own switch.
        enforced: bool,
    },
}

impl DefenderExclusion {
    #[must_use]
    pub fn diff(&self, facts: DefenderFacts) -> Diff {
        let DefenderFacts::Present { listed, enforced } = facts else {
            return Diff::unchanged("Defender is not installed");
        };
        let mut changes = Vec::new();
        if !listed {
            changes.push(Change::missing("exclusion", &self.exclusion));
        }
        if !enforced {
            changes.push(Change::field("policy list", "ignored", "enforced"));
        }
        Diff::from_changes(changes, || format!("{} is not scanned", self.exclusion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_counts_only_in_an_enforced_list() {
        let exclusion = DefenderExclusion {
            exclusion: Exclusion::Path(r"C:\k".to_owned()),
        };
        let in_sync = |listed, enforced| {
            let facts = DefenderFacts::Present { listed, enforced };
            exclusion.diff(facts).in_sync()
        };
        assert!(in_sync(true, true));
        assert!(!in_sync(true, false) && !in_sync(false, true) && !in_sync(false, false));
        assert!(exclusion.diff(DefenderFacts::Absent).in_sync());
    }
}
