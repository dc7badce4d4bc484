//! Files identified by their hash.

use serde::{Deserialize, Serialize};

use crate::Sha256;

/// A file that is sent to hosts. It is stored under its hash, so that the same bytes
/// are stored once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Blob {
    /// Also its file name on a host.
    pub sha256: Sha256,
    /// In bytes.
    pub size: u64,
}

impl Blob {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            sha256: Sha256::of(bytes),
            size: bytes.len() as u64,
        }
    }
}
