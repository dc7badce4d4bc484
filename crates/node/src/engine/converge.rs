//! Making a host what a document says.

use std::collections::BTreeMap;

use casement_resource::wire::{Outcome, What};
use casement_resource::{Change, Code, Diff, Failure, NodeDocument, Prior, ResourceId, Step};

use super::tally::Fate;
use super::{Ended, Engine, Numbers};
use crate::kinds::{self, both_sides};
use crate::platform::Result;
use crate::state::records::Records;

/// How far a run has come.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) numbers: Numbers,
    /// Each blocked step with the failed one that it comes after.
    pub(super) blocked: BTreeMap<ResourceId, ResourceId>,
}

impl Engine<'_> {
    pub(super) fn converge(
        &mut self,
        document: &NodeDocument,
        records: &mut Records,
    ) -> Result<(Outcome, Numbers)> {
        let mut walk = Walk::default();
        for step in document.steps() {
            if self.stopped() || !self.pass(step, &mut walk, records)? {
                return Ok((Outcome::Stopped, walk.numbers));
            }
        }
        let outcome = if walk.numbers.any_failed() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        Ok((outcome, walk.numbers))
    }

    /// One step, unless it comes after one that failed; `false` if the run was
    /// stopped in it. All that the next one needs to know is in the walk and in the
    /// records.
    pub(super) fn pass(
        &mut self,
        step: &Step,
        walk: &mut Walk,
        records: &mut Records,
    ) -> Result<bool> {
        let id = step.id.clone();
        let mut before = step.after.iter();
        let because = before.find_map(|before| walk.blocked.get(before)).cloned();
        if let Some(because) = because {
            walk.blocked.insert(id.clone(), because.clone());
            walk.numbers.set(&id, Fate::Skipped);
            self.sink.write(What::StepSkipped { id, because })?;
            return Ok(true);
        }
        match self.step(step, records)? {
            Ended::Right => walk.numbers.set(&id, Fate::Right),
            Ended::Changed => walk.numbers.set(&id, Fate::Changed),
            Ended::Stopped => return Ok(false),
            Ended::Failed(failure) => {
                walk.blocked.insert(id.clone(), id.clone());
                walk.numbers.set(&id, Fate::Failed);
                let failure = *failure;
                self.sink.write(What::StepFailed { id, failure })?;
            }
        }
        Ok(true)
    }

    /// One step. The outer error is the journal's, and ends the run.
    fn step(&mut self, step: &Step, records: &mut Records) -> Result<Ended> {
        let no_secrets = BTreeMap::new();
        let stale = records.is_stale(&step.id);
        let diff = match kinds::look(&self.place(stale, &no_secrets), &step.resource) {
            Ok(diff) => diff,
            Err(failure) => return Ok(failure.into()),
        };
        let changes = match diff {
            Diff::Changes(changes) => changes,
            Diff::Right { reason, .. } => {
                if let Err(failure) = settle(step, records) {
                    return Ok(failure.into());
                }
                self.sink.write(What::StepRight {
                    id: step.id.clone(),
                    reason,
                })?;
                return Ok(Ended::Right);
            }
        };
        let Some(secrets) = self.secrets_for(&step.id, &step.resource)? else {
            return Ok(Ended::Stopped);
        };
        // Before the record: what is announced and then cut off, has at worst
        // a record of a change that was not made, and undoing that is harmless.
        self.sink.write(What::StepBegan {
            id: step.id.clone(),
            changes,
            disruptive: step.disruptive,
        })?;
        let made = self.make(step, records, &secrets);
        for name in kinds::secrets(&step.resource) {
            self.secrets.forget(&name);
        }
        match made {
            Err(failure) => Ok(failure.into()),
            Ok(unobserved) => {
                self.sink.write(What::StepChanged {
                    id: step.id.clone(),
                    unobserved,
                })?;
                Ok(Ended::Changed)
            }
        }
    }

    /// Keeps, changes, verifies; gives the fields that cannot be verified.
    fn make(
        &self,
        step: &Step,
        records: &mut Records,
        secrets: &BTreeMap<casement_resource::SecretName, casement_resource::Secret>,
    ) -> Result<Vec<String>> {
        let at = self.place(records.is_stale(&step.id), secrets);
        self.undo_other_thing(step, records)?;
        let earlier = records.get(&step.id).cloned();
        let prior: Prior = match &earlier {
            None => kinds::prior(&at, &step.resource)?,
            Some(record) => kinds::extend(&at, &step.resource, &record.prior)?,
        };
        records.put(&step.id, &step.resource, prior.clone())?;
        records.mark_stale(&step.id)?;
        let earlier = earlier.map(|record| record.resource);
        kinds::change(&at, &step.resource, &prior, earlier.as_ref())?;
        records.clear_stale(&step.id)?;
        match kinds::look(&self.place(false, secrets), &step.resource)? {
            Diff::Right { unobserved, .. } => Ok(unobserved),
            Diff::Changes(changes) => Err(not_converged(&step.id, &changes)),
        }
    }

    /// A step that used to be about another thing (a moved file): that one is
    /// taken back first.
    fn undo_other_thing(&self, step: &Step, records: &mut Records) -> Result<()> {
        let Some(record) = records.get(&step.id).cloned() else {
            return Ok(());
        };
        if record.resource.identity() == step.resource.identity() {
            return Ok(());
        }
        let secrets = BTreeMap::new();
        kinds::undo(
            &self.place(false, &secrets),
            &record.resource,
            &record.prior,
        )?;
        records.forget(&step.id)
    }
}

/// Notes that a step is right as it is.
fn settle(step: &Step, records: &mut Records) -> Result<()> {
    let record = records.get(&step.id);
    if kinds::leaves_nothing(&step.resource) && record.is_some() {
        return records.forget(&step.id);
    }
    // What it is to be may have changed to what it is: it goes as it is by now.
    if let Some(record) = record
        && record.resource != step.resource
        && record.resource.identity() == step.resource.identity()
    {
        let prior = record.prior.clone();
        records.put(&step.id, &step.resource, prior)?;
    }
    // A service that does not run is not stale either.
    records.clear_stale(&step.id)
}

fn not_converged(id: &ResourceId, changes: &[Change]) -> Failure {
    let (wanted, found) = both_sides(changes);
    Failure::new(
        Code::NotConverged,
        format!("`{id}` was changed, and is still not what it should be"),
        "something else changes it back, or the system did not do what it said; look there first",
    )
    .values(wanted, found)
}
