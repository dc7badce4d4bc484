//! What `casement-node receive` and the controller say to each other, where there
//! is no SFTP: the bytes of one blob, as lines.

use serde::{Deserialize, Serialize};

use crate::{Failure, Sha256};

/// What the controller says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToReceiver {
    /// Answers `have`: the bytes that follow go behind so many.
    From {
        /// What was there, or none if that was something else.
        bytes: u64,
    },
    /// The next bytes, as base64.
    Data(String),
    /// That was all.
    End,
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum FromReceiver {
    /// First of all: what an earlier attempt left.
    Have {
        /// So many bytes.
        bytes: u64,
        /// Their hash.
        sha256: Sha256,
    },
    /// The blob is there, whole.
    Done,
    /// It is not, and this is why.
    Failed(Failure),
}
