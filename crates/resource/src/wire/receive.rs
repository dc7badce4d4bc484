//! The protocol of `casement-node receive`, for hosts without SFTP: the bytes of one
//! blob, as lines.

use serde::{Deserialize, Serialize};

use crate::{Failure, Sha256};

/// Messages from the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToReceiver {
    /// Answers `have`: the following bytes are appended after this offset.
    From {
        /// What was present, or 0 if the content differs.
        bytes: u64,
    },
    /// The next bytes, as base64.
    Data(String),
    /// All bytes were sent.
    End,
}

/// Messages from the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum FromReceiver {
    /// Sent first: what an earlier attempt left.
    Have {
        /// Bytes present.
        bytes: u64,
        sha256: Sha256,
    },
    /// The blob is complete.
    Done,
    /// The transfer failed.
    Failed(Failure),
}
