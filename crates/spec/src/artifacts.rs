//! Where programs are downloaded from.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::{Program, Url, defaults};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifacts {
    /// `None`: each artifact is downloaded from its publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Url>,
    /// `None`: the cache directory of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Utf8PathBuf>,
    pub lock: Utf8PathBuf,
    /// Local builds that replace releases.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<Program, Utf8PathBuf>,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            mirror: None,
            cache: None,
            lock: defaults::lock(),
            overrides: BTreeMap::new(),
        }
    }
}
