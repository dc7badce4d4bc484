//! `wait`: a condition with a deadline.

use serde::{Deserialize, Serialize};

use crate::{Change, Condition, ConditionFacts, Diff};

/// A condition that must be met before dependent steps run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wait {
    pub condition: Condition,
    /// The deadline.
    pub timeout_seconds: u32,
    /// What the user can do, if only the user can.
    #[serde(rename = "remedy", default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Wait {
    #[must_use]
    pub fn diff(&self, facts: &ConditionFacts) -> Diff {
        match facts {
            ConditionFacts::Holds => Diff::unchanged(self.condition.to_string()),
            ConditionFacts::NotYet(found) => {
                Diff::Changes(vec![Change::field("condition", found, &self.condition)])
            }
        }
    }
}
