//! `hostname`: what the host calls itself.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// The name that a host should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hostname {
    /// The name, without a domain.
    pub name: String,
}

/// A host's name as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostnameFacts {
    /// The name that it was given last.
    pub name: String,
    /// It takes effect at the next boot only.
    pub after_boot: bool,
    /// The domain that the host is a member of (Active Directory).
    pub domain: Option<String>,
}

impl Hostname {
    /// What is to change. Case does not matter.
    #[must_use]
    pub fn diff(&self, facts: &HostnameFacts) -> Diff {
        if !facts.name.eq_ignore_ascii_case(&self.name) {
            return Diff::Changes(vec![Change::field("name", &facts.name, &self.name)]);
        }
        Diff::right(if facts.after_boot {
            "its name after the next boot"
        } else {
            "its name"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_waits_for_a_boot_was_given() {
        let wanted = Hostname {
            name: "win1".to_owned(),
        };
        let facts = |name: &str, after_boot| HostnameFacts {
            name: name.to_owned(),
            after_boot,
            domain: None,
        };
        assert!(wanted.diff(&facts("WIN1", false)).is_right());
        assert!(wanted.diff(&facts("win1", true)).is_right());
        assert!(!wanted.diff(&facts("WIN-3K2", false)).is_right());
    }
}
