//! The records: what casement made on this host, and what was there before.
//!
//! Written as a whole and durably before each change, so that whatever is
//! interrupted can be taken back.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::{Code, Failure, Prior, Resource, ResourceId};
use serde::{Deserialize, Serialize};

use super::{Layout, read, write_durably};
use crate::platform::Result;

/// One thing that casement made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The latest that it should be.
    pub resource: Resource,
    /// What was there before the first change.
    pub prior: Prior,
    /// Its place in the order of making; undone backwards.
    pub place: u64,
}

/// All records of a host.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    version: u32,
    next_place: u64,
    records: BTreeMap<ResourceId, Record>,
    /// Services that run with what is no longer there.
    stale: BTreeSet<ResourceId>,
}

/// The records, in memory and on disk.
#[derive(Debug)]
pub struct Records {
    layout: Layout,
    written: Written,
}

const VERSION: u32 = 1;

/// Only the version, whatever else is there.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The records, or what they should be and what they are.
fn understand(bytes: &[u8]) -> std::result::Result<Written, (String, String)> {
    let wanted = format!("version {VERSION}");
    let seen: std::result::Result<Versioned, _> = serde_json::from_slice(bytes);
    if let Ok(seen) = seen
        && seen.version != VERSION
    {
        return Err((wanted, format!("version {}", seen.version)));
    }
    serde_json::from_slice(bytes).map_err(|error| (wanted, error.to_string()))
}

impl Records {
    /// Reads them; none yet is fine.
    pub fn load(layout: &Layout) -> Result<Self> {
        let path = layout.records();
        let written = match read(&path)? {
            None => Written {
                version: VERSION,
                ..Written::default()
            },
            Some(bytes) => understand(&bytes).map_err(|(wanted, found)| {
                Failure::new(
                    Code::State,
                    format!("the records `{}` cannot be understood", path.display()),
                    "use the version of casement that wrote them",
                )
                .values(wanted, found)
            })?,
        };
        Ok(Self {
            layout: layout.clone(),
            written,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.written.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.written.records.is_empty()
    }

    /// One record.
    #[must_use]
    pub fn get(&self, id: &ResourceId) -> Option<&Record> {
        self.written.records.get(id)
    }

    /// All of them, what was made last first.
    #[must_use]
    pub fn backwards(&self) -> Vec<(ResourceId, Record)> {
        let mut records: Vec<_> = self
            .written
            .records
            .iter()
            .map(|(id, record)| (id.clone(), record.clone()))
            .collect();
        records.sort_by_key(|(_, record)| std::cmp::Reverse(record.place));
        records
    }

    /// Keeps what was there before; a record that exists keeps its place.
    pub fn put(&mut self, id: &ResourceId, resource: &Resource, prior: Prior) -> Result<()> {
        let place = match self.written.records.get(id) {
            Some(record) => record.place,
            None => {
                self.written.next_place += 1;
                self.written.next_place
            }
        };
        let record = Record {
            resource: resource.clone(),
            prior,
            place,
        };
        if self.written.records.get(id) == Some(&record) {
            return Ok(());
        }
        self.written.records.insert(id.clone(), record);
        self.save()
    }

    /// Forgets what has been taken back.
    pub fn forget(&mut self, id: &ResourceId) -> Result<()> {
        self.written.records.remove(id);
        self.written.stale.remove(id);
        self.save()
    }

    /// Whether a service runs with what is no longer there.
    #[must_use]
    pub fn is_stale(&self, id: &ResourceId) -> bool {
        self.written.stale.contains(id)
    }

    /// Marks the services that must be started anew once `changed` is changed.
    pub fn mark_stale(&mut self, changed: &ResourceId) -> Result<()> {
        let before = self.written.stale.len();
        for (id, record) in &self.written.records {
            if let Resource::Service(service) = &record.resource
                && service.restart_on.contains(changed)
            {
                self.written.stale.insert(id.clone());
            }
        }
        if self.written.stale.len() == before {
            Ok(())
        } else {
            self.save()
        }
    }

    /// A service runs with what is there.
    pub fn clear_stale(&mut self, id: &ResourceId) -> Result<()> {
        if self.written.stale.remove(id) {
            self.save()
        } else {
            Ok(())
        }
    }

    fn save(&self) -> Result<()> {
        let json = serde_json::to_vec(&self.written).map_err(|error| {
            Failure::new(
                Code::State,
                format!("the records cannot be written: {error}"),
                "report this",
            )
        })?;
        write_durably(&self.layout.records(), &json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_newer_version_are_refused_for_it_and_left_alone() {
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
            assert_eq!(failure.wanted.as_deref(), Some("version 1"));
            assert!(failure.found.unwrap().starts_with(found));
            assert_eq!(std::fs::read_to_string(layout.records()).unwrap(), text);
        }
    }
}
