//! Why a step could not be carried out, as data that travels.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of thing went wrong; stable for ever, explained by `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Code {
    /// The platform has no such thing (a registry on Linux).
    #[serde(rename = "CAS-NODE-001")]
    Unsupported,
    /// A call of the operating system failed.
    #[serde(rename = "CAS-NODE-002")]
    System,
    /// After the change, the host is not what it should be.
    #[serde(rename = "CAS-NODE-003")]
    NotConverged,
    /// Something foreign is in the way; casement does not touch it.
    #[serde(rename = "CAS-NODE-004")]
    Foreign,
    /// The blob that an artifact needs is not on the host.
    #[serde(rename = "CAS-NODE-005")]
    BlobMissing,
    /// A blob or a member of an archive is not what its hash says.
    #[serde(rename = "CAS-NODE-006")]
    BlobWrong,
    /// A condition did not come true before its deadline.
    #[serde(rename = "CAS-NODE-007")]
    TimedOut,
    /// A service stopped, or did not start.
    #[serde(rename = "CAS-NODE-008")]
    ServiceFailed,
    /// A program ended with an error.
    #[serde(rename = "CAS-NODE-009")]
    ProgramFailed,
    /// A path that exists belongs to somebody who is not trusted.
    #[serde(rename = "CAS-NODE-010")]
    Untrusted,
    /// The state folder cannot be read or written.
    #[serde(rename = "CAS-NODE-011")]
    State,
    /// No interface has the address that names it.
    #[serde(rename = "CAS-NODE-012")]
    InterfaceMissing,
    /// The service `casement` does not answer.
    #[serde(rename = "CAS-NODE-013")]
    Backstage,
    /// The controller said something that makes no sense here.
    #[serde(rename = "CAS-NODE-014")]
    Protocol,
    /// A secret did not come.
    #[serde(rename = "CAS-NODE-015")]
    SecretMissing,
    /// What was recorded cannot be restored.
    #[serde(rename = "CAS-NODE-016")]
    Restore,
    /// What was taken back is there again.
    #[serde(rename = "CAS-NODE-017")]
    LeftBehind,
    /// The agent runs as somebody who may not change the host.
    #[serde(rename = "CAS-NODE-018")]
    NotElevated,
    /// Something is missing that only a person can bring.
    #[serde(rename = "CAS-NODE-019")]
    Needed,
    /// A download did not come whole: the mirror does not have it, or broke off.
    #[serde(rename = "CAS-NODE-020")]
    NotFetched,
    /// Nothing comes from the mirror: the host cannot reach or trust it, or has
    /// nothing to fetch with.
    #[serde(rename = "CAS-NODE-021")]
    NoMirror,
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CAS-NODE-{:03}", *self as u8 + 1)
    }
}

/// A failure with both values and the way on. It never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[error("{code}: {what}")]
pub struct Failure {
    /// What kind.
    pub code: Code,
    /// One line: the thing, by name, and what happened to it.
    pub what: String,
    /// What should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// What is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What a person can do.
    pub remedy: String,
}

impl Failure {
    /// A failure without values.
    pub fn new(code: Code, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            wanted: None,
            found: None,
            remedy: remedy.into(),
        }
    }

    /// With the two values that disagree.
    #[must_use]
    pub fn values(mut self, wanted: impl Into<String>, found: impl Into<String>) -> Self {
        self.wanted = Some(wanted.into());
        self.found = Some(found.into());
        self
    }

    /// With what was seen.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_the_same_in_text_and_on_the_wire() {
        for code in [
            Code::Unsupported,
            Code::Restore,
            Code::NotElevated,
            Code::Needed,
            Code::NoMirror,
        ] {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{code}\""));
        }
    }
}
