//! `symlink`: a name that stands for another one.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// A symbolic link that should exist; parents are made as needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Symlink {
    /// Where.
    pub path: HostPath,
    /// What it says, taken literally; nothing need have that name.
    pub target: String,
}

/// A link as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SymlinkFacts {
    /// Nothing has this name.
    Absent,
    /// Something that is no link has this name.
    InTheWay,
    /// It exists, and says this.
    Present(String),
}

impl Symlink {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &SymlinkFacts) -> Diff {
        match facts {
            SymlinkFacts::Absent => Diff::Changes(vec![Change::missing("target", &self.target)]),
            SymlinkFacts::InTheWay => {
                Diff::Changes(vec![Change::field("exists", "no link", "a link")])
            }
            SymlinkFacts::Present(target) if *target == self.target => {
                Diff::right(format!("points at `{target}`"))
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
    fn a_link_is_what_it_says() {
        let link = Symlink {
            path: "/etc/x".parse().unwrap(),
            target: "../run/x".to_owned(),
        };
        let found = |target: &str| SymlinkFacts::Present(target.to_owned());
        assert!(link.diff(&found("../run/x")).is_right());
        assert!(!link.diff(&found("/run/x")).is_right());
        assert!(!link.diff(&SymlinkFacts::Absent).is_right());
        assert!(!link.diff(&SymlinkFacts::InTheWay).is_right());
    }
}
