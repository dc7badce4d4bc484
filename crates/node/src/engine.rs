//! The engine: carries an order out, step by step, so that it can be cut off
//! anywhere and gone on with.
//!
//! Each step: look, compare, keep what was there (on disk), say what will
//! happen (on disk), change, look again. What was seen after the change must be
//! what was wanted. A step that fails stops those that come after it and no
//! others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use casement_resource::wire::{Event, ObservedStep, Outcome, RunKind, What};
use casement_resource::{
    Diff, Failure, NodeDocument, Resource, ResourceId, Secret, SecretName, Sha256,
};

use crate::kinds::{self, Place};
use crate::platform::{Platform, Result};
use crate::state::order::{Order, Task};
use crate::state::records::Records;
use crate::state::{Layout, kept};

mod converge;
mod remove;
mod tally;

#[cfg(test)]
pub(crate) mod documents;
#[cfg(test)]
mod tests;

use tally::Numbers;

/// Where events are written down before they are true.
pub trait Sink {
    /// Writes an event down; on disk when it returns.
    fn write(&mut self, what: What) -> Result<()>;
}

/// Where secrets come from.
pub trait SecretSource {
    /// The value, if it is there already.
    fn get(&self, name: &SecretName) -> Option<Secret>;

    /// Waits until all of them are there; `false` if the run is told to stop.
    fn wait(&self, names: &[SecretName]) -> bool;

    /// The value was used up, or did not serve: the next one who needs it asks.
    fn forget(&self, name: &SecretName);
}

/// What a run works with.
pub struct Engine<'a> {
    /// The host.
    pub platform: &'a dyn Platform,
    /// The state folder.
    pub layout: &'a Layout,
    /// The journal.
    pub sink: &'a mut dyn Sink,
    /// Secrets.
    pub secrets: &'a dyn SecretSource,
    /// Set when the run should stop after the current step.
    pub stop: &'a AtomicBool,
}

/// What `observe` found.
#[derive(Debug)]
pub struct Observation {
    /// Each step, in the document's order.
    pub steps: Vec<ObservedStep>,
    /// Blobs that changes need and that are not there.
    pub missing_blobs: Vec<Sha256>,
    /// Whether the host is kept to the document.
    pub kept: Diff,
}

/// Compares a document with the host; changes nothing.
pub fn observe(
    platform: &dyn Platform,
    layout: &Layout,
    document: &NodeDocument,
) -> Result<Observation> {
    let records = Records::load(layout)?;
    let mut missing_blobs = Vec::new();
    let mut steps = Vec::new();
    for step in document.steps() {
        let at = Place {
            platform,
            layout,
            stale: records.is_stale(&step.id),
            secrets: &BTreeMap::new(),
        };
        let seen = kinds::look(&at, &step.resource);
        if let (Ok(diff), Some(sha256)) = (&seen, kinds::blob(&step.resource))
            && !diff.is_right()
            && !missing_blobs.contains(&sha256)
            && !layout.blob(&sha256).exists()
        {
            missing_blobs.push(sha256);
        }
        steps.push(ObservedStep {
            id: step.id.clone(),
            seen,
        });
    }
    Ok(Observation {
        steps,
        missing_blobs,
        kept: kept::look(layout, document)?,
    })
}

impl Engine<'_> {
    /// Carries an order out. `before` is what the journal holds of this run
    /// already. Fails only if the journal or the records cannot be kept; what
    /// goes wrong on the host is in the events.
    pub fn run(&mut self, order: &Order, before: &[Event]) -> Result<Outcome> {
        let mut records = Records::load(self.layout)?;
        self.begin(order, before, &records)?;
        self.sweep(&records);
        let (outcome, mut tally) = match &order.task {
            Task::Converge(document) => {
                let (outcome, tally) = self.converge(document, &mut records)?;
                if outcome == Outcome::Done {
                    kept::keep(self.layout, document)?;
                }
                (outcome, tally)
            }
            Task::Remove(what) => {
                kept::forget(self.layout, what)?;
                self.remove(what, &mut records)?
            }
        };
        tally.add_before(before);
        self.sink.write(What::Finished {
            outcome,
            tally: tally.count(),
        })?;
        Ok(outcome)
    }

    fn begin(&mut self, order: &Order, before: &[Event], records: &Records) -> Result<()> {
        if !before.is_empty() {
            return self.sink.write(What::Resumed);
        }
        let (kind, steps) = match &order.task {
            Task::Converge(document) => {
                (RunKind::Converge(document.stage()), document.steps().len())
            }
            Task::Remove(_) => (RunKind::Remove, records.len()),
        };
        self.sink.write(What::Began {
            kind,
            steps: u32::try_from(steps).unwrap_or(u32::MAX),
            controller: order.controller.clone(),
        })
    }

    /// First thing in every run: tokens that a kill has left on the disk. The
    /// join step itself says so if one cannot be deleted.
    fn sweep(&self, records: &Records) {
        let secrets = BTreeMap::new();
        for (_, record) in records.backwards() {
            let _ = kinds::sweep(&self.place(false, &secrets), &record.resource);
        }
    }

    fn place<'b>(&'b self, stale: bool, secrets: &'b BTreeMap<SecretName, Secret>) -> Place<'b> {
        Place {
            platform: self.platform,
            layout: self.layout,
            stale,
            secrets,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The values that a change needs; asks for those that are not there.
    fn secrets_for(
        &mut self,
        id: &ResourceId,
        resource: &Resource,
    ) -> Result<Option<BTreeMap<SecretName, Secret>>> {
        let names = kinds::secrets(resource);
        let absent: Vec<_> = names
            .iter()
            .filter(|name| self.secrets.get(name).is_none())
            .cloned()
            .collect();
        if !absent.is_empty() {
            self.sink.write(What::NeedSecret {
                id: id.clone(),
                names: absent.clone(),
            })?;
            if !self.secrets.wait(&absent) {
                return Ok(None);
            }
        }
        let value = |name: &SecretName| Some((name.clone(), self.secrets.get(name)?));
        Ok(Some(names.iter().filter_map(value).collect()))
    }
}

/// A step's end, seen from the loop over the steps.
enum Ended {
    Right,
    Changed,
    Failed(Box<Failure>),
    Stopped,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}
