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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DefenderFacts {
    /// There is no Defender on this host.
    Absent,
    /// There is one.
    Present {
        /// It is in the policy's list.
        listed: bool,
        /// The policy's list is heeded: each list has a switch of its own.
        heeded: bool,
    },
}

impl DefenderExclusion {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: DefenderFacts) -> Diff {
        let DefenderFacts::Present { listed, heeded } = facts else {
            return Diff::right("the host has no Defender");
        };
        let mut changes = Vec::new();
        if !listed {
            changes.push(Change::missing("exclusion", &self.exclusion));
        }
        if !heeded {
            changes.push(Change::field("the policy's list", "ignored", "heeded"));
        }
        Diff::from_changes(changes, || format!("{} is not scanned", self.exclusion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_counts_only_in_a_list_that_is_heeded() {
        let exclusion = DefenderExclusion {
            exclusion: Exclusion::Path(r"C:\k".to_owned()),
        };
        let right = |listed, heeded| {
            let facts = DefenderFacts::Present { listed, heeded };
            exclusion.diff(facts).is_right()
        };
        assert!(right(true, true));
        assert!(!right(true, false) && !right(false, true) && !right(false, false));
        assert!(exclusion.diff(DefenderFacts::Absent).is_right());
    }
}
