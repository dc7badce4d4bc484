//! `symlink`: a symbolic link.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// Missing parent folders are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Symlink {
    pub path: HostPath,
    /// The literal target, which need not exist.
    pub target: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SymlinkFacts {
    /// The path does not exist.
    Absent,
    /// The path exists, but is not a link.
    InTheWay,
    /// The target of an existing link.
    Present(String),
}

impl Symlink {
    #[must_use]
    pub fn diff(&self, facts: &SymlinkFacts) -> Diff {
        match facts {
            SymlinkFacts::Absent => Diff::Changes(vec![Change::missing("target", &self.target)]),
            SymlinkFacts::InTheWay => {
                Diff::Changes(vec![Change::field("type", "not a link", "link")])
            }
            SymlinkFacts::Present(target) if *target == self.target => {
                Diff::unchanged(format!("points to `{target}`"))
            }
            SymlinkFacts::Present(target) => {
                Diff::Changes(vec![Change::field("target", target, &self.target)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literal_target_counts() {
        let link = Symlink {
            path: "/etc/x".parse().unwrap(),
            target: "../run/x".to_owned(),
        };
        let found = |target: &str| SymlinkFacts::Present(target.to_owned());
        assert!(link.diff(&found("../run/x")).in_sync());
        assert!(!link.diff(&found("/run/x")).in_sync());
        assert!(!link.diff(&SymlinkFacts::Absent).in_sync());
        assert!(!link.diff(&SymlinkFacts::InTheWay).in_sync());
    }
}
