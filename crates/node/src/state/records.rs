//! The records: what casement created on this host, and the prior state.
//!
//! Written atomically and durably before each change, so that any interrupted change
//! can be undone.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::{Code, Failure, Prior, Resource, ResourceId};
use serde::{Deserialize, Serialize};

use super::{Layout, read, write_durably};
use crate::platform::Result;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The last desired state.
    pub resource: Resource,
    /// The state before the first change.
    pub prior: Prior,
    /// Order of creation; removal goes backwards.
    #[serde(rename = "place")]
    pub sequence: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordsFile {
    version: u32,
    #[serde(rename = "nextPlace")]
    last_sequence: u64,
    records: BTreeMap<ResourceId, Record>,
    /// Services that run with outdated inputs and need a restart.
    stale: BTreeSet<ResourceId>,
}

#[derive(Debug)]
pub struct Records {
    layout: Layout,
    file: RecordsFile,
}

const VERSION: u32 = 1;

/// Accepts any other fields, so that a newer version is reported as such.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The records, or the expected and found values.
fn parse(bytes: &[u8]) -> std::result::Result<RecordsFile, (String, String)> {
    let wanted = format!("version {VERSION}");
    let versioned: std::result::Result<Versioned, _> = serde_json::from_slice(bytes);
    if let Ok(versioned) = versioned
        && versioned.version != VERSION
    {
        return Err((wanted, format!("version {}", versioned.version)));
    }
    serde_json::from_slice(bytes).map_err(|error| (wanted, error.to_string()))
}

impl Records {
    /// Empty if there is no file yet.
    pub fn load(layout: &Layout) -> Result<Self> {
        let path = layout.records();
        let file = match read(&path)? {
            None => RecordsFile {
                version: VERSION,
                ..RecordsFile::default()
            },
            Some(bytes) => parse(&bytes).map_err(|(wanted, found)| {
                Failure::new(
                    Code::State,
                    format!("failed to parse the records in `{}`", path.display()),
                    "use the version of casement that wrote the file",
                )
                .values(wanted, found)
            })?,
        };
        Ok(Self {
            layout: layout.clone(),
            file,
        })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.file.records.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file.records.is_empty()
    }

    #[must_use]
    pub fn get(&self, id: &ResourceId) -> Option<&Record> {
        self.file.records.get(id)
    }

    #[must_use]
    pub fn newest_first(&self) -> Vec<(ResourceId, Record)> {
        let mut records: Vec<_> = self
            .file
            .records
            .iter()
            .map(|(id, record)| (id.clone(), record.clone()))
            .collect();
        records.sort_by_key(|(_, record)| std::cmp::Reverse(record.sequence));
        records
    }

    /// An existing record keeps its sequence number.
    pub fn put(&mut self, id: &ResourceId, resource: &Resource, prior: Prior) -> Result<()> {
        let sequence = match self.file.records.get(id) {
            Some(record) => record.sequence,
            None => {
                self.file.last_sequence += 1;
                self.file.last_sequence
            }
        };
        let record = Record {
            resource: resource.clone(),
            prior,
            sequence,
        };
        if self.file.records.get(id) == Some(&record) {
            return Ok(());
        }
        self.file.records.insert(id.clone(), record);
        self.save()
    }

    pub fn remove(&mut self, id: &ResourceId) -> Result<()> {
        self.file.records.remove(id);
        self.file.stale.remove(id);
        self.save()
    }

    /// Whether a service runs with outdated inputs.
    #[must_use]
    pub fn is_stale(&self, id: &ResourceId) -> bool {
        self.file.stale.contains(id)
    }

    /// Marks the services that need a restart after a change of `changed`.
    pub fn mark_stale(&mut self, changed: &ResourceId) -> Result<()> {
        let before = self.file.stale.len();
        for (id, record) in &self.file.records {
            if let Resource::Service(service) = &record.resource
                && service.restart_on.contains(changed)
            {
                self.file.stale.insert(id.clone());
            }
        }
        if self.file.stale.len() == before {
            Ok(())
        } else {
            self.save()
        }
    }

    pub fn clear_stale(&mut self, id: &ResourceId) -> Result<()> {
        if self.file.stale.remove(id) {
            self.save()
        } else {
            Ok(())
        }
    }

    fn save(&self) -> Result<()> {
        let json = serde_json::to_vec(&self.file).map_err(|error| {
            Failure::new(
                Code::State,
                format!("failed to serialize the records: {error}"),
                "report this as a bug",
            )
        })?;
        write_durably(&self.layout.records(), &json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_newer_version_are_rejected_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        std::fs::create_dir(folder.path().join("state")).unwrap();
        for (text, found) in [
            (r#"{"version":2,"more":[]}"#, "version 2"),
            ("{", "EOF while parsing"),
        ] {
            std::fs::write(layout.records(), text).unwrap();
            let failure = Records::load(&layout).unwrap_err();
            assert_eq!(failure.code, Code::State);
            assert_eq!(failure.expected.as_deref(), Some("version 1"));
            assert!(failure.found.unwrap().starts_with(found));
            assert_eq!(std::fs::read_to_string(layout.records()).unwrap(), text);
        }
    }
}
