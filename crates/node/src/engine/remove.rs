//! Removes what casement created, newest first.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::wire::{EventKind, Outcome, RemoveScope};
use casement_resource::{Code, Failure, Resource, ResourceId, ServiceDefinition};

use super::tally::StepOutcome;
use super::{Engine, StepOutcomes};
use crate::kinds;
use crate::platform::Result;
use crate::state::records::{Record, Records};

mod runtimes;

use runtimes::Runtimes;

impl Engine<'_> {
    pub(super) fn remove(
        &mut self,
        scope: &RemoveScope,
        records: &mut Records,
    ) -> Result<(Outcome, StepOutcomes)> {
        let mut selected = records.newest_first();
        if let RemoveScope::Ids(ids) = scope {
            selected.retain(|(id, _)| ids.contains(id));
        }
        let mut outcomes = StepOutcomes::default();
        let is_image = |record: &Record| matches!(record.resource, Resource::Image(_));
        let (images, rest): (Vec<_>, Vec<_>) = selected
            .into_iter()
            .partition(|(_, record)| is_image(record));
        let runtimes = Runtimes::new(&images, &rest);
        self.stop_services(&rest, |service| !runtimes.is_runtime(service));
        self.release_stores(&rest);
        if !self.remove_all(&images, &runtimes, records, &mut outcomes)? {
            return Ok((Outcome::Stopped, outcomes));
        }
        if let Some(image) = runtimes.blocking_image(&images, &rest, records) {
            self.skip(&rest, image, &mut outcomes)?;
            return Ok((Outcome::Failed, outcomes));
        }
        self.stop_services(&rest, |_| true);
        if !self.remove_all(&rest, &runtimes, records, &mut outcomes)? {
            return Ok((Outcome::Stopped, outcomes));
        }
        self.verify_removed(&rest, records, &mut outcomes)?;
        let outcome = if outcomes.any_failed() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        Ok((outcome, outcomes))
    }

    /// `false` if the run was stopped.
    fn remove_all(
        &mut self,
        selected: &[(ResourceId, Record)],
        runtimes: &Runtimes,
        records: &mut Records,
        outcomes: &mut StepOutcomes,
    ) -> Result<bool> {
        let mut failed: Vec<(&ResourceId, &Resource)> = Vec::new();
        for (own, record) in selected {
            if self.stopped() {
                return Ok(false);
            }
            let blocks =
                |it: &&(&ResourceId, &Resource)| kinds::needs_for_removal(it.1, &record.resource);
            if let Some((because, _)) = failed.iter().find(blocks) {
                let skipped = [(own.clone(), record.clone())];
                self.skip(&skipped, because, outcomes)?;
                continue;
            }
            let (id, thing) = (own.clone(), record.resource.identity());
            self.sink.write(EventKind::StepBegan {
                id: id.clone(),
                name: thing.clone(),
                changes: Vec::new(),
                disruptive: matches!(record.resource, Resource::HnsNetwork(_)),
            })?;
            match self.remove_one(&id, record, runtimes, records) {
                Ok(()) => {
                    outcomes.set(&id, StepOutcome::Changed);
                    self.sink.write(EventKind::StepRemoved { id, thing })?;
                }
                Err(failure) => {
                    failed.push((own, &record.resource));
                    outcomes.set(&id, StepOutcome::Failed);
                    self.sink.write(EventKind::StepFailed { id, failure })?;
                }
            }
        }
        Ok(true)
    }

    /// Reports that these are left for the next removal.
    fn skip(
        &mut self,
        steps: &[(ResourceId, Record)],
        because: &ResourceId,
        outcomes: &mut StepOutcomes,
    ) -> Result<()> {
        for (id, record) in steps {
            outcomes.set(id, StepOutcome::Skipped);
            self.sink.write(EventKind::StepSkipped {
                id: id.clone(),
                name: record.resource.identity(),
                because: because.clone(),
            })?;
        }
        Ok(())
    }

    /// Checks each object again after all were removed, since a program that was
    /// still exiting may have created one again. What exists gets its record back, so
    /// that the next run removes it.
    fn verify_removed(
        &mut self,
        selected: &[(ResourceId, Record)],
        records: &mut Records,
        outcomes: &mut StepOutcomes,
    ) -> Result<()> {
        let mut left = Vec::new();
        let mut things = 0;
        for (id, record) in selected {
            // Failed removals still have their record and were reported.
            if records.get(id).is_some() || !kinds::is_object(&record.resource) {
                continue;
            }
            things += 1;
            self.retry_undo(record);
            if self.still_exists(record) {
                records.put(id, &record.resource, record.prior.clone())?;
                outcomes.set(id, StepOutcome::Failed);
                left.push(record.resource.identity());
                let failure = left_behind(&record.resource);
                self.sink.write(EventKind::StepFailed {
                    id: id.clone(),
                    failure,
                })?;
            }
        }
        self.sink.write(EventKind::Verified { things, left })
    }

    /// A program that was still exiting may have created an object again: a folder
    /// that it creates on start, a file that it writes on exit.
    fn retry_undo(&self, record: &Record) {
        const ATTEMPTS: u32 = 10;
        const INTERVAL: Duration = Duration::from_millis(500);
        let secrets = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            if !self.still_exists(record) {
                return;
            }
            // The check above tells whether it worked.
            let context = self.context(false, &secrets);
            let _ = kinds::undo(&context, &record.resource, &record.prior);
            self.platform.pause(INTERVAL);
        }
    }

    /// Whether an object is as casement created it, and not as it was before. One that
    /// cannot be observed any more counts as removed.
    fn still_exists(&self, record: &Record) -> bool {
        let secrets = BTreeMap::new();
        let context = self.context(false, &secrets);
        let as_applied =
            kinds::observe(&context, &record.resource).is_ok_and(|diff| diff.in_sync());
        let as_before =
            || kinds::prior(&context, &record.resource).is_ok_and(|now| now == record.prior);
        as_applied && !as_before()
    }

    /// A running program writes into the folders that are about to be deleted. One
    /// that cannot be stopped is reported when it is removed itself.
    fn stop_services(
        &self,
        selected: &[(ResourceId, Record)],
        filter: impl Fn(&ServiceDefinition) -> bool,
    ) {
        for (_, record) in selected {
            if let Resource::Service(service) = &record.resource
                && filter(&service.definition)
            {
                let _ = self.platform.stop_service(&service.definition.name);
            }
        }
    }

    /// Has container runtimes empty their stores while they still run. Failures are not
    /// reported: the removal deletes the rest itself.
    fn release_stores(&self, selected: &[(ResourceId, Record)]) {
        const ATTEMPTS: u32 = 3;
        const INTERVAL: Duration = Duration::from_millis(500);
        let secrets = BTreeMap::new();
        for (_, record) in selected {
            if !kinds::owns_whole_store(&record.resource, &record.prior) {
                continue;
            }
            for _ in 0..ATTEMPTS {
                let context = self.context(false, &secrets);
                if kinds::release(&context, &record.resource).is_ok() {
                    break;
                }
                self.platform.pause(INTERVAL);
            }
        }
    }

    fn remove_one(
        &self,
        id: &ResourceId,
        record: &Record,
        runtimes: &Runtimes,
        records: &mut Records,
    ) -> Result<()> {
        let secrets = BTreeMap::new();
        let context = self.context(false, &secrets);
        let undone = kinds::undo(&context, &record.resource, &record.prior);
        if !runtimes.removed_with_store(&record.resource) {
            undone?;
        }
        records.remove(id)
    }
}

fn left_behind(resource: &Resource) -> Failure {
    Failure::new(
        Code::LeftBehind,
        format!("{} was removed, but exists again", resource.identity()),
        "stop the program that creates it, then run `casement reset` again",
    )
}
