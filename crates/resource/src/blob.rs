//! Files that are known by what they hold.

use serde::{Deserialize, Serialize};

use crate::Sha256;

/// A file that hosts get. The store of a host keeps it under its hash, so that the same
/// bytes are there once, whatever they are called elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Blob {
    /// Its hash, which is its name on a host.
    pub sha256: Sha256,
    /// Its length in bytes.
    pub size: u64,
}

impl Blob {
    /// The blob of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            sha256: Sha256::of(bytes),
            size: bytes.len() as u64,
        }
    }
}
