//! `hostname`: the host name.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// The desired host name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hostname {
    /// The name, without a domain.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostnameFacts {
    /// The configured name.
    pub name: String,
    /// It takes effect only at the next boot.
    pub after_boot: bool,
    /// The Active Directory domain of the host.
    pub domain: Option<String>,
}

impl Hostname {
    /// Ignores case.
    #[must_use]
    pub fn diff(&self, facts: &HostnameFacts) -> Diff {
        if !facts.name.eq_ignore_ascii_case(&self.name) {
            return Diff::Changes(vec![Change::field("name", &facts.name, &self.name)]);
        }
        Diff::unchanged(if facts.after_boot {
            "set, effective after the next reboot"
        } else {
            "set"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_waits_for_a_boot_is_in_sync() {
        let wanted = Hostname {
            name: "win1".to_owned(),
        };
        let facts = |name: &str, after_boot| HostnameFacts {
            name: name.to_owned(),
            after_boot,
            domain: None,
        };
        assert!(wanted.diff(&facts("WIN1", false)).in_sync());
        assert!(wanted.diff(&facts("win1", true)).in_sync());
        assert!(!wanted.diff(&facts("WIN-3K2", false)).in_sync());
    }
}
