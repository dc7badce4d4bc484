//! A download that a host fetches itself, from the mirror.

use serde::{Deserialize, Serialize};

use crate::{Blob, Secret};

/// What to fetch, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pull {
    /// The address, which may hold a password.
    pub from: Secret,
    /// The way there.
    pub proxy: PullProxy,
    /// What is there.
    pub download: Blob,
    /// The blobs in it, if it is a gzip-compressed tar archive of them; none if
    /// it is the blob itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Blob>,
}

/// Through which proxy a host fetches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PullProxy {
    /// The one that the host itself is set to, if it is set to one.
    HostsOwn,
    /// None.
    Direct,
    /// This one; its address may hold a password.
    At(Secret),
}
