//! `wait`: a condition with a deadline, never a sleep.

use serde::{Deserialize, Serialize};

use crate::{Change, Condition, ConditionFacts, Diff};

/// A condition that must come true before what depends on it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wait {
    /// What must be so.
    pub condition: Condition,
    /// For how long at most.
    pub timeout_seconds: u32,
    /// What a person can do where only a person can bring it about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Wait {
    /// What is to wait for.
    #[must_use]
    pub fn diff(&self, facts: &ConditionFacts) -> Diff {
        match facts {
            ConditionFacts::Holds => Diff::right(self.condition.to_string()),
            ConditionFacts::NotYet(found) => {
                Diff::Changes(vec![Change::field("condition", found, &self.condition)])
            }
        }
    }
}
