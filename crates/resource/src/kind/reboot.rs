//! `reboot`: only where something waits for it.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// Nothing on the host should wait for a boot; if something does, the host is
/// rebooted, and the run goes on after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reboot {
    /// What it is for, in a few words (`the feature Containers`).
    pub reason: String,
    /// How long the host may take from the order to going down.
    pub timeout_seconds: u32,
}

/// What waits for a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RebootFacts {
    /// Each thing, in a few words; empty if nothing does.
    pub waiting: Vec<String>,
}

impl Reboot {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &RebootFacts) -> Diff {
        if facts.waiting.is_empty() {
            return Diff::right("nothing waits for a reboot");
        }
        let waiting = facts.waiting.join(", ");
        Diff::Changes(vec![Change::field(
            "waits for a reboot",
            waiting,
            "nothing",
        )])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_reason_there_is_no_reboot() {
        let reboot = Reboot {
            reason: "a feature".to_owned(),
            timeout_seconds: 60,
        };
        let facts = |waiting| RebootFacts { waiting };
        assert!(reboot.diff(&facts(Vec::new())).is_right());
        assert!(!reboot.diff(&facts(vec!["a feature".to_owned()])).is_right());
    }
}
