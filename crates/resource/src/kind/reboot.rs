//! `reboot`: only if a change is pending.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// If one of the listed changes waits for a boot, the host is rebooted and the run
/// resumes afterwards.
///
/// Other pending changes are ignored: a node is not rebooted for Windows Update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reboot {
    /// A short reason (`the feature Containers`).
    pub reason: String,
    /// Changes that may need the reboot.
    pub waits: Vec<PendingChange>,
    /// Whether the host may be rebooted; otherwise the run reports that a reboot is needed.
    pub allowed: bool,
    /// Limit from the reboot request to the shutdown.
    pub timeout_seconds: u32,
    /// Limit from the shutdown until the host responds again: Windows installs features
    /// and updates before and after a boot.
    pub back_seconds: u32,
}

/// A change that may take effect only at the next boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PendingChange {
    Feature(String),
    Hostname,
    /// An update, by its KB article.
    Update(String),
}

impl fmt::Display for PendingChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(name) => write!(formatter, "the feature {name}"),
            Self::Hostname => formatter.write_str("the host name"),
            Self::Update(article) => formatter.write_str(article),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RebootFacts {
    /// The pending changes of the list.
    pub waiting: Vec<PendingChange>,
}

impl fmt::Display for RebootFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting: Vec<String> = self.waiting.iter().map(ToString::to_string).collect();
        formatter.write_str(&waiting.join(", "))
    }
}

impl Reboot {
    /// The limit from the reboot request until the host responds again.
    #[must_use]
    pub fn max_duration(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout_seconds) + u64::from(self.back_seconds))
    }

    #[must_use]
    pub fn diff(&self, facts: &RebootFacts) -> Diff {
        if facts.waiting.is_empty() {
            return Diff::unchanged("no reboot pending");
        }
        Diff::Changes(vec![Change::field("pending reboot", facts, "none")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reboot_happens_only_for_pending_changes() {
        let feature = PendingChange::Feature("Containers".to_owned());
        let reboot = Reboot {
            reason: "a feature".to_owned(),
            waits: vec![feature.clone(), PendingChange::Hostname],
            allowed: true,
            timeout_seconds: 60,
            back_seconds: 600,
        };
        let diff = |waiting| reboot.diff(&RebootFacts { waiting });
        assert!(diff(Vec::new()).in_sync());
        let Diff::Changes(changes) = diff(vec![feature, PendingChange::Hostname]) else {
            panic!("two changes are pending");
        };
        let expected = "pending reboot: the feature Containers, the host name → none";
        assert_eq!(changes[0].to_string(), expected);
    }
}
