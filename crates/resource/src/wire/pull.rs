//! A download that a host fetches from the mirror by itself.

use serde::{Deserialize, Serialize};

use crate::{Blob, Secret};

/// What to download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pull {
    /// The URL, which may contain a password.
    pub from: Secret,
    /// How to connect.
    pub proxy: PullProxy,
    pub download: Blob,
    /// The blobs in it, if it is a gzip-compressed tar archive; empty if it is the blob
    /// itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Blob>,
}

/// The proxy for a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PullProxy {
    /// The proxy that the host itself is configured with, if any.
    #[serde(rename = "hostsOwn")]
    HostDefault,
    Direct,
    /// The URL may contain a password.
    At(Secret),
}
