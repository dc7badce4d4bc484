//! The result of comparing a resource with facts.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::{Access, AccessFacts, Sha256};

/// The result of comparing desired and observed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Diff {
    #[serde(rename = "right")]
    InSync {
        /// What was observed (`running since …`, `same content, 812 bytes`).
        reason: String,
        /// Fields that the platform cannot observe: not known to be equal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unobserved: Vec<String>,
    },
    /// Never empty.
    Changes(Vec<Change>),
}

impl Diff {
    /// In sync, with every field observed.
    pub fn unchanged(reason: impl Into<String>) -> Self {
        Self::InSync {
            reason: reason.into(),
            unobserved: Vec::new(),
        }
    }

    /// The changes, or in sync with this reason if there are none.
    pub fn from_changes(changes: Vec<Change>, reason: impl FnOnce() -> String) -> Self {
        if changes.is_empty() {
            Self::unchanged(reason())
        } else {
            Self::Changes(changes)
        }
    }

    #[must_use]
    pub fn in_sync(&self) -> bool {
        matches!(self, Self::InSync { .. })
    }
}

/// One field that differs. Contents are shown by hash, secrets never.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// The field, or `exists`.
    pub field: String,
    /// None if absent.
    pub before: Option<String>,
    /// None if it should be absent.
    pub after: Option<String>,
}

/// `field: before → after`.
impl Display for Change {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        write!(formatter, "{}: ", self.field)?;
        match (before, after) {
            (None, Some(after)) => formatter.write_str(after),
            (Some(before), None) => write!(formatter, "{before} → (absent)"),
            (before, after) => {
                write!(
                    formatter,
                    "{} → {}",
                    before.unwrap_or("(absent)"),
                    after.unwrap_or("(absent)")
                )
            }
        }
    }
}

impl Change {
    pub fn field(field: &str, before: impl Display, after: impl Display) -> Self {
        Self {
            field: field.to_owned(),
            before: Some(before.to_string()),
            after: Some(after.to_string()),
        }
    }

    /// A value that is missing.
    pub fn missing(field: &str, after: impl Display) -> Self {
        Self {
            field: field.to_owned(),
            before: None,
            after: Some(after.to_string()),
        }
    }
}

/// Adds a change if the two values differ.
pub(crate) fn compare<T: PartialEq + ToString>(
    changes: &mut Vec<Change>,
    field: &str,
    before: &T,
    after: &T,
) {
    if before != after {
        changes.push(Change::field(field, before.to_string(), after.to_string()));
    }
}

pub(crate) fn content(sha256: &Sha256, size: u64) -> String {
    format!("{size} bytes, sha256 {}", sha256.short())
}

/// Adds a change if access differs.
pub(crate) fn compare_access(changes: &mut Vec<Change>, wanted: Access, facts: &AccessFacts) {
    let (in_sync, after) = match wanted {
        Access::Inherited => return,
        Access::AdministratorsOnly => {
            let after = "administrators only".to_owned();
            (facts.administrators_only, after)
        }
        // On Linux the descriptor starts with the mode.
        Access::Mode(mode) => {
            let found = facts.descriptor.split(' ').next();
            (found == Some(mode.to_string().as_str()), mode.to_string())
        }
    };
    if !in_sync {
        changes.push(Change::field("access", &facts.descriptor, after));
    }
}
