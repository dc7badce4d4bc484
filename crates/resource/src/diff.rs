//! What a comparison of a resource with facts gives.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::{Access, AccessFacts, Sha256};

/// The outcome of comparing what should be with what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Diff {
    /// Nothing to do.
    Right {
        /// Why: what was seen (`running since …`, `same content, 812 bytes`).
        reason: String,
        /// Fields that the platform cannot observe: not known to be equal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unobserved: Vec<String>,
    },
    /// Something differs; never empty.
    Changes(Vec<Change>),
}

impl Diff {
    /// Right, with every field observed.
    pub fn right(reason: impl Into<String>) -> Self {
        Self::Right {
            reason: reason.into(),
            unobserved: Vec::new(),
        }
    }

    /// The changes if there are any, else right for the reason given.
    pub fn from_changes(changes: Vec<Change>, reason: impl FnOnce() -> String) -> Self {
        if changes.is_empty() {
            Self::right(reason())
        } else {
            Self::Changes(changes)
        }
    }

    /// Whether nothing is to do.
    #[must_use]
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right { .. })
    }
}

/// One field that differs. Contents are shown by hash, secrets not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// The field, or `exists`.
    pub field: String,
    /// What is there; none if nothing is.
    pub before: Option<String>,
    /// What should be there; none if nothing should.
    pub after: Option<String>,
}

/// `field: before → after`.
impl Display for Change {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        write!(formatter, "{}: ", self.field)?;
        match (before, after) {
            (None, Some(after)) => formatter.write_str(after),
            (Some(before), None) => write!(formatter, "{before} → nothing"),
            (before, after) => {
                write!(
                    formatter,
                    "{} → {}",
                    before.unwrap_or("nothing"),
                    after.unwrap_or("nothing")
                )
            }
        }
    }
}

impl Change {
    /// A field with another value.
    pub fn field(field: &str, before: impl Display, after: impl Display) -> Self {
        Self {
            field: field.to_owned(),
            before: Some(before.to_string()),
            after: Some(after.to_string()),
        }
    }

    /// Something that is not there yet.
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

/// How contents are shown.
pub(crate) fn content(sha256: &Sha256, size: u64) -> String {
    format!("{size} bytes, sha256 {}", sha256.short())
}

/// Adds a change if access should be narrow, or of a mode, and is not.
pub(crate) fn compare_access(changes: &mut Vec<Change>, wanted: Access, facts: &AccessFacts) {
    let (right, after) = match wanted {
        Access::Inherited => return,
        Access::AdministratorsOnly => {
            let after = "administrators only".to_owned();
            (facts.administrators_only, after)
        }
        // The descriptor of Linux begins with the mode.
        Access::Mode(mode) => {
            let found = facts.descriptor.split(' ').next();
            (found == Some(mode.to_string().as_str()), mode.to_string())
        }
    };
    if !right {
        changes.push(Change::field("access", &facts.descriptor, after));
    }
}
