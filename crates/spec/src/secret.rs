//! Credentials are named, never held.

use camino::Utf8PathBuf;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Where a credential is; never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// In this file on the machine that runs casement.
    File(Utf8PathBuf),
    /// In this environment variable.
    Env(String),
    /// A person types it.
    Prompt,
}

impl SecretRef {
    /// The file, if it is in one.
    pub(crate) fn file_mut(&mut self) -> Option<&mut Utf8PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Env(_) | Self::Prompt => None,
        }
    }
}

/// An account at a registry or a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its name.
    pub user: String,
    /// Its password or token.
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
