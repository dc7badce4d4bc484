//! The file format of lock entries.

use casement_catalog::System;
use casement_resource::Sha256;
use serde::{Deserialize, Serialize};

use crate::entry::{Content, Entry, Origin};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub version: u32,
    #[serde(default, rename = "artifact", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

/// Read first, to tell an unsupported version from a syntax error.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    pub version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    name: String,
    system: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    sha256: Sha256,
    from: String,
    source: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unverified: bool,
}

impl From<&Entry> for Artifact {
    fn from(entry: &Entry) -> Self {
        let (version, url, file) = match &entry.content {
            Content::Published { version, url } => (Some(version.clone()), Some(url.clone()), None),
            Content::Own { path } => (None, None, Some(path.to_string())),
        };
        Self {
            name: entry.name.clone(),
            system: entry.system.name().to_owned(),
            version,
            url,
            file,
            sha256: entry.sha256,
            from: entry.from.name().to_owned(),
            source: entry.source.clone(),
            unverified: entry.unverified,
        }
    }
}

impl Artifact {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn entry(self) -> Result<Entry, String> {
        let system = [System::Windows, System::Linux]
            .into_iter()
            .find(|system| system.name() == self.system)
            .ok_or_else(|| {
                format!(
                    "`{}` is not a valid system (expected windows or linux)",
                    self.system
                )
            })?;
        let from = Origin::ALL
            .iter()
            .copied()
            .find(|origin| origin.name() == self.from)
            .ok_or_else(|| format!("`{}` is not a valid hash origin", self.from))?;
        let content = match (self.version, self.url, self.file) {
            (Some(version), Some(url), None) => Content::Published { version, url },
            (None, None, Some(path)) => Content::Own { path: path.into() },
            _ => return Err("expected either `version` and `url`, or `file`".to_owned()),
        };
        Ok(Entry {
            name: self.name,
            system,
            content,
            sha256: self.sha256,
            from,
            source: self.source,
            unverified: self.unverified,
        })
    }
}
