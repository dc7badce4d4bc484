//! Applies a document to the host.

use std::collections::BTreeMap;

use casement_resource::wire::{EventKind, Outcome};
use casement_resource::{Change, Code, Diff, Failure, NodeDocument, Prior, ResourceId, Step};

use super::tally::StepOutcome;
use super::{Engine, StepOutcomes, StepResult};
use crate::kinds::{self, expected_and_found};
use crate::platform::Result;
use crate::state::records::Records;

#[derive(Default)]
pub(super) struct ConvergeState {
    pub(super) outcomes: StepOutcomes,
    /// Each blocked step with the failed step that blocks it.
    pub(super) blocked: BTreeMap<ResourceId, ResourceId>,
}

impl Engine<'_> {
    pub(super) fn converge(
        &mut self,
        document: &NodeDocument,
        records: &mut Records,
    ) -> Result<(Outcome, StepOutcomes)> {
        let mut state = ConvergeState::default();
        for step in document.steps() {
            if self.stopped() || !self.run_step(step, &mut state, records)? {
                return Ok((Outcome::Stopped, state.outcomes));
            }
        }
        let outcome = if state.outcomes.any_failed() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        Ok((outcome, state.outcomes))
    }

    /// Runs one step, or skips it if a failed step blocks it; `false` if the run was
    /// stopped. All state between steps is in `state` and `records`.
    pub(super) fn run_step(
        &mut self,
        step: &Step,
        state: &mut ConvergeState,
        records: &mut Records,
    ) -> Result<bool> {
        let id = step.id.clone();
        let mut dependencies = step.after.iter();
        let because = dependencies.find_map(|id| state.blocked.get(id)).cloned();
        if let Some(because) = because {
            state.blocked.insert(id.clone(), because.clone());
            state.outcomes.set(&id, StepOutcome::Skipped);
            let name = step.resource.identity();
            self.sink
                .write(EventKind::StepSkipped { id, name, because })?;
            return Ok(true);
        }
        match self.converge_step(step, records)? {
            StepResult::Unchanged => state.outcomes.set(&id, StepOutcome::Unchanged),
            StepResult::Changed => state.outcomes.set(&id, StepOutcome::Changed),
            StepResult::Stopped => return Ok(false),
            StepResult::Failed(failure) => {
                state.blocked.insert(id.clone(), id.clone());
                state.outcomes.set(&id, StepOutcome::Failed);
                let failure = *failure;
                self.sink.write(EventKind::StepFailed { id, failure })?;
            }
        }
        Ok(true)
    }

    /// The outer error is one of the journal, and ends the run.
    fn converge_step(&mut self, step: &Step, records: &mut Records) -> Result<StepResult> {
        let no_secrets = BTreeMap::new();
        let stale = records.is_stale(&step.id);
        let diff = match kinds::observe(&self.context(stale, &no_secrets), &step.resource) {
            Ok(diff) => diff,
            Err(failure) => return Ok(failure.into()),
        };
        let changes = match diff {
            Diff::Changes(changes) => changes,
            Diff::InSync { reason, .. } => {
                if let Err(failure) = record_in_sync(step, records) {
                    return Ok(failure.into());
                }
                self.sink.write(EventKind::StepInSync {
                    id: step.id.clone(),
                    reason,
                })?;
                return Ok(StepResult::Unchanged);
            }
        };
        let Some(secrets) = self.secrets_for(&step.id, &step.resource)? else {
            return Ok(StepResult::Stopped);
        };
        // Written before the record. If the run is killed in between, there is at most
        // a record without a change, and undoing that is harmless.
        self.sink.write(EventKind::StepBegan {
            id: step.id.clone(),
            name: step.resource.identity(),
            changes,
            disruptive: step.disruptive,
        })?;
        let applied = self.apply_step(step, records, &secrets);
        for name in kinds::secrets(&step.resource) {
            self.secrets.forget(&name);
        }
        match applied {
            Err(failure) => Ok(failure.into()),
            Ok(unobserved) => {
                self.sink.write(EventKind::StepChanged {
                    id: step.id.clone(),
                    unobserved,
                })?;
                Ok(StepResult::Changed)
            }
        }
    }

    /// Records the prior state, applies and verifies; returns the fields that cannot be
    /// verified.
    fn apply_step(
        &self,
        step: &Step,
        records: &mut Records,
        secrets: &BTreeMap<casement_resource::SecretName, casement_resource::Secret>,
    ) -> Result<Vec<String>> {
        let context = self.context(records.is_stale(&step.id), secrets);
        self.undo_renamed(step, records)?;
        let record = records.get(&step.id).cloned();
        let prior: Prior = match &record {
            None => kinds::prior(&context, &step.resource)?,
            Some(record) => kinds::extend(&context, &step.resource, &record.prior)?,
        };
        records.put(&step.id, &step.resource, prior.clone())?;
        records.mark_stale(&step.id)?;
        let previous = record.map(|record| record.resource);
        kinds::apply(&context, &step.resource, &prior, previous.as_ref())?;
        records.clear_stale(&step.id)?;
        match kinds::observe(&self.context(false, secrets), &step.resource)? {
            Diff::InSync { unobserved, .. } => Ok(unobserved),
            Diff::Changes(changes) => Err(not_converged(&step.id, &changes)),
        }
    }

    /// If the step managed another object before (a moved file), undoes that first.
    fn undo_renamed(&self, step: &Step, records: &mut Records) -> Result<()> {
        let Some(record) = records.get(&step.id).cloned() else {
            return Ok(());
        };
        if record.resource.identity() == step.resource.identity() {
            return Ok(());
        }
        let secrets = BTreeMap::new();
        kinds::undo(
            &self.context(false, &secrets),
            &record.resource,
            &record.prior,
        )?;
        records.remove(&step.id)
    }
}

fn record_in_sync(step: &Step, records: &mut Records) -> Result<()> {
    let record = records.get(&step.id);
    if kinds::needs_no_record(&step.resource) && record.is_some() {
        return records.remove(&step.id);
    }
    // The desired state may have changed to the current one: update the record.
    if let Some(record) = record
        && record.resource != step.resource
        && record.resource.identity() == step.resource.identity()
    {
        let prior = record.prior.clone();
        records.put(&step.id, &step.resource, prior)?;
    }
    // A stopped service is not stale either.
    records.clear_stale(&step.id)
}

fn not_converged(id: &ResourceId, changes: &[Change]) -> Failure {
    let (wanted, found) = expected_and_found(changes);
    Failure::new(
        Code::NotConverged,
        format!("`{id}` still differs after the change"),
        "check whether another program reverts the change, or the system ignored it",
    )
    .values(wanted, found)
}
