//! References to credentials; this crate never holds a secret.

use camino::Utf8PathBuf;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Where a credential is stored; never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// A file on the machine that runs casement.
    File(Utf8PathBuf),
    /// An environment variable.
    Env(String),
    Prompt,
}

impl SecretRef {
    pub(crate) fn file_mut(&mut self) -> Option<&mut Utf8PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Env(_) | Self::Prompt => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub user: String,
    pub password: SecretRef,
}

impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::File(path) => map.serialize_entry("file", path)?,
            Self::Env(name) => map.serialize_entry("env", name)?,
            Self::Prompt => map.serialize_entry("prompt", &true)?,
        }
        map.end()
    }
}
