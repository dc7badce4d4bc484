//! Where programs come from.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::{Program, Url, defaults};

/// Where programs come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifacts {
    /// Where all of them are fetched; `None` for each one's own home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Url>,
    /// Where they are kept on the machine that runs casement; `None` for the
    /// user's own cache folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Utf8PathBuf>,
    /// The file that pins them.
    pub lock: Utf8PathBuf,
    /// One's own builds, as files.
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
