//! Why a step failed, as data for the wire.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stable error codes, documented by `casement explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Code {
    /// Not supported on this platform (a registry on Linux).
    #[serde(rename = "CAS-NODE-001")]
    Unsupported,
    /// An operating system call failed.
    #[serde(rename = "CAS-NODE-002")]
    System,
    /// The host still differs after the change.
    #[serde(rename = "CAS-NODE-003")]
    NotConverged,
    /// A foreign object has the same name; casement does not touch it.
    #[serde(rename = "CAS-NODE-004")]
    Foreign,
    /// The blob that an artifact needs is not on the host.
    #[serde(rename = "CAS-NODE-005")]
    BlobMissing,
    /// A blob or archive member does not match its hash.
    #[serde(rename = "CAS-NODE-006")]
    BlobMismatch,
    /// A condition was not met before its deadline.
    #[serde(rename = "CAS-NODE-007")]
    TimedOut,
    /// A service stopped, or did not start.
    #[serde(rename = "CAS-NODE-008")]
    ServiceFailed,
    #[serde(rename = "CAS-NODE-009")]
    ProgramFailed,
    /// An existing path has an untrusted owner.
    #[serde(rename = "CAS-NODE-010")]
    Untrusted,
    /// Reading or writing the state folder failed.
    #[serde(rename = "CAS-NODE-011")]
    State,
    /// No interface has the configured address.
    #[serde(rename = "CAS-NODE-012")]
    InterfaceMissing,
    /// The service `casement` does not respond.
    #[serde(rename = "CAS-NODE-013")]
    ServiceUnreachable,
    /// An unexpected message from the controller.
    #[serde(rename = "CAS-NODE-014")]
    Protocol,
    /// A secret was not received.
    #[serde(rename = "CAS-NODE-015")]
    SecretMissing,
    /// A recorded prior state cannot be restored.
    #[serde(rename = "CAS-NODE-016")]
    Restore,
    /// A removed object still exists or reappeared.
    #[serde(rename = "CAS-NODE-017")]
    LeftBehind,
    /// The agent's user is not an administrator.
    #[serde(rename = "CAS-NODE-018")]
    NotElevated,
    /// The user has to do something first.
    #[serde(rename = "CAS-NODE-019")]
    ActionRequired,
    /// A download failed or was incomplete.
    #[serde(rename = "CAS-NODE-020")]
    DownloadFailed,
    /// The host cannot reach or trust the mirror, or has no download program.
    #[serde(rename = "CAS-NODE-021")]
    MirrorUnreachable,
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As on the wire: each code is written once, in the attributes above.
        self.serialize(formatter)
    }
}

/// A failure with both values and help. It never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[error("{code}: {message}")]
pub struct Failure {
    pub code: Code,
    /// One line that names the object and what happened to it.
    #[serde(rename = "what")]
    pub message: String,
    #[serde(rename = "wanted", default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What the user can do about it.
    #[serde(rename = "remedy")]
    pub help: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            expected: None,
            found: None,
            help: help.into(),
        }
    }

    /// Adds the two values that differ.
    #[must_use]
    pub fn values(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.found = Some(found.into());
        self
    }

    /// Adds the observed value.
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
    fn a_code_is_the_same_in_text_and_on_the_wire() {
        for (code, text) in [
            (Code::Unsupported, "CAS-NODE-001"),
            (Code::Restore, "CAS-NODE-016"),
            (Code::NotElevated, "CAS-NODE-018"),
            (Code::ActionRequired, "CAS-NODE-019"),
            (Code::MirrorUnreachable, "CAS-NODE-021"),
        ] {
            assert_eq!(code.to_string(), text);
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{text}\""));
        }
    }
}
