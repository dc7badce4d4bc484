//! `reboot`: only where something waits for it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// Nothing of this list should wait for a boot; if something does, the host is
/// rebooted, and the run goes on after it.
///
/// What others left waiting is no reason: a node is not rebooted because
/// Windows Update would like it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reboot {
    /// What it is for, in a few words (`the feature Containers`).
    pub reason: String,
    /// What may wait for it.
    pub waits: Vec<WaitsForBoot>,
    /// Whether the host may be rebooted; else the run says that it needs one.
    pub allowed: bool,
    /// How long the host may take from the order to going down.
    pub timeout_seconds: u32,
    /// How long it may take from there until it answers again: Windows puts
    /// features and updates in their places on both sides of a boot.
    pub back_seconds: u32,
}

/// A change that may take effect at the next boot only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum WaitsForBoot {
    /// A feature of Windows.
    Feature(String),
    /// The host's name.
    Hostname,
    /// An update, by its article.
    Update(String),
}

impl fmt::Display for WaitsForBoot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(name) => write!(formatter, "the feature {name}"),
            Self::Hostname => formatter.write_str("the host's name"),
            Self::Update(article) => formatter.write_str(article),
        }
    }
}

/// What waits for a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RebootFacts {
    /// Those of the list that do.
    pub waiting: Vec<WaitsForBoot>,
}

impl fmt::Display for RebootFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting: Vec<String> = self.waiting.iter().map(ToString::to_string).collect();
        formatter.write_str(&waiting.join(", "))
    }
}

impl Reboot {
    /// How long it may take from the order until the host answers again.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout_seconds) + u64::from(self.back_seconds))
    }

    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &RebootFacts) -> Diff {
        if facts.waiting.is_empty() {
            return Diff::right("nothing waits for a reboot");
        }
        Diff::Changes(vec![Change::field("waits for a reboot", facts, "nothing")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_reason_there_is_no_reboot() {
        let feature = WaitsForBoot::Feature("Containers".to_owned());
        let reboot = Reboot {
            reason: "a feature".to_owned(),
            waits: vec![feature.clone(), WaitsForBoot::Hostname],
            allowed: true,
            timeout_seconds: 60,
            back_seconds: 600,
        };
        let diff = |waiting| reboot.diff(&RebootFacts { waiting });
        assert!(diff(Vec::new()).is_right());
        let Diff::Changes(changes) = diff(vec![feature, WaitsForBoot::Hostname]) else {
            panic!("two things wait");
        };
        let waits = "waits for a reboot: the feature Containers, the host's name → nothing";
        assert_eq!(changes[0].to_string(), waits);
    }
}
