//! The engine: executes an order step by step, so that an interrupted run can be
//! resumed at any point.
//!
//! Each step: observe, write the planned changes and the prior state to disk, apply,
//! observe again. The second observation must match the desired state. A failed step
//! blocks only the steps that depend on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use casement_resource::wire::{Event, EventKind, ObservedStep, Outcome, RunKind};
use casement_resource::{
    Diff, Failure, NodeDocument, Resource, ResourceId, Secret, SecretName, Sha256,
};

use crate::kinds::{self, KindContext};
use crate::platform::{Platform, Result};
use crate::state::order::{Order, Task};
use crate::state::records::Records;
use crate::state::{Layout, applied};

mod converge;
mod remove;
mod tally;

#[cfg(test)]
pub(crate) mod documents;
#[cfg(test)]
mod tests;

use tally::StepOutcomes;

pub trait EventSink {
    /// The event is on disk when this returns.
    fn write(&mut self, event: EventKind) -> Result<()>;
}

pub trait SecretSource {
    fn get(&self, name: &SecretName) -> Option<Secret>;

    /// Waits until all of them are received; `false` if the run is stopped.
    fn wait(&self, names: &[SecretName]) -> bool;

    /// Drops a used or invalid value, so that the next step requests it again.
    fn forget(&self, name: &SecretName);
}

pub struct Engine<'a> {
    pub platform: &'a dyn Platform,
    pub layout: &'a Layout,
    pub sink: &'a mut dyn EventSink,
    pub secrets: &'a dyn SecretSource,
    /// Stops the run after the current step.
    pub stop: &'a AtomicBool,
}

#[derive(Debug)]
pub struct Observation {
    /// In the order of the document.
    pub steps: Vec<ObservedStep>,
    /// Blobs that changes need and that are not on the host.
    pub missing_blobs: Vec<Sha256>,
    /// Whether the agent keeps the host in sync with this document.
    pub kept: Diff,
}

/// Compares a document with the host. Read-only.
pub fn observe(
    platform: &dyn Platform,
    layout: &Layout,
    document: &NodeDocument,
) -> Result<Observation> {
    let records = Records::load(layout)?;
    let mut missing_blobs = Vec::new();
    let mut steps = Vec::new();
    for step in document.steps() {
        let context = KindContext {
            platform,
            layout,
            stale: records.is_stale(&step.id),
            secrets: &BTreeMap::new(),
        };
        let result = kinds::observe(&context, &step.resource);
        if let (Ok(diff), Some(sha256)) = (&result, kinds::blob(&step.resource))
            && !diff.in_sync()
            && !missing_blobs.contains(&sha256)
            && !layout.blob(&sha256).exists()
        {
            missing_blobs.push(sha256);
        }
        steps.push(ObservedStep {
            id: step.id.clone(),
            result,
        });
    }
    Ok(Observation {
        steps,
        missing_blobs,
        kept: applied::diff(layout, document)?,
    })
}

impl Engine<'_> {
    /// Executes an order. `previous` are the events that the journal has of this run
    /// already. Fails only if the journal or the records cannot be written; failures
    /// of steps are events.
    pub fn run(&mut self, order: &Order, previous: &[Event]) -> Result<Outcome> {
        let mut records = Records::load(self.layout)?;
        self.begin(order, previous, &records)?;
        self.delete_leftover_secrets(&records);
        let (outcome, mut outcomes) = match &order.task {
            Task::Converge(document) => {
                let (outcome, outcomes) = self.converge(document, &mut records)?;
                if outcome == Outcome::Done {
                    applied::save(self.layout, document)?;
                }
                (outcome, outcomes)
            }
            Task::Remove(scope) => {
                applied::remove(self.layout, scope)?;
                self.remove(scope, &mut records)?
            }
        };
        outcomes.merge(previous);
        self.sink.write(EventKind::Finished {
            outcome,
            tally: outcomes.tally(),
        })?;
        Ok(outcome)
    }

    fn begin(&mut self, order: &Order, previous: &[Event], records: &Records) -> Result<()> {
        if !previous.is_empty() {
            return self.sink.write(EventKind::Resumed);
        }
        let (kind, steps) = match &order.task {
            Task::Converge(document) => {
                (RunKind::Converge(document.stage()), document.steps().len())
            }
            Task::Remove(_) => (RunKind::Remove, records.len()),
        };
        self.sink.write(EventKind::Began {
            kind,
            steps: u32::try_from(steps).unwrap_or(u32::MAX),
            controller: order.controller.clone(),
        })
    }

    /// A killed run may have left tokens on disk. If one cannot be deleted, the join
    /// step reports it.
    fn delete_leftover_secrets(&self, records: &Records) {
        let secrets = BTreeMap::new();
        for (_, record) in records.newest_first() {
            let _ =
                kinds::delete_leftover_secrets(&self.context(false, &secrets), &record.resource);
        }
    }

    fn context<'b>(
        &'b self,
        stale: bool,
        secrets: &'b BTreeMap<SecretName, Secret>,
    ) -> KindContext<'b> {
        KindContext {
            platform: self.platform,
            layout: self.layout,
            stale,
            secrets,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Requests and waits for missing secrets; `None` if the run is stopped.
    fn secrets_for(
        &mut self,
        id: &ResourceId,
        resource: &Resource,
    ) -> Result<Option<BTreeMap<SecretName, Secret>>> {
        let names = kinds::secrets(resource);
        let missing: Vec<_> = names
            .iter()
            .filter(|name| self.secrets.get(name).is_none())
            .cloned()
            .collect();
        if !missing.is_empty() {
            self.sink.write(EventKind::NeedSecret {
                id: id.clone(),
                names: missing.clone(),
            })?;
            if !self.secrets.wait(&missing) {
                return Ok(None);
            }
        }
        let value = |name: &SecretName| Some((name.clone(), self.secrets.get(name)?));
        Ok(Some(names.iter().filter_map(value).collect()))
    }
}

enum StepResult {
    Unchanged,
    Changed,
    Failed(Box<Failure>),
    Stopped,
}

impl From<Failure> for StepResult {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}
