//! Taking back what casement made, what was made last first.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::wire::{Outcome, RemoveWhat, What};
use casement_resource::{Code, Failure, Resource, ResourceId};

use super::tally::Fate;
use super::{Engine, Numbers};
use crate::kinds;
use crate::platform::Result;
use crate::state::records::{Record, Records};

impl Engine<'_> {
    pub(super) fn remove(
        &mut self,
        what: &RemoveWhat,
        records: &mut Records,
    ) -> Result<(Outcome, Numbers)> {
        let mut chosen = records.backwards();
        if let RemoveWhat::Ids(ids) = what {
            chosen.retain(|(id, _)| ids.contains(id));
        }
        let mut numbers = Numbers::default();
        // Those can be asked for only while somebody runs who keeps them.
        let kept_by_services = |record: &Record| matches!(record.resource, Resource::Image(_));
        let (first, rest): (Vec<_>, Vec<_>) = chosen
            .into_iter()
            .partition(|(_, record)| kept_by_services(record));
        if !self.take_back_all(&first, records, &mut numbers)? {
            return Ok((Outcome::Stopped, numbers));
        }
        self.stop_services(&rest);
        if !self.take_back_all(&rest, records, &mut numbers)? {
            return Ok((Outcome::Stopped, numbers));
        }
        self.look_again(&rest, records, &mut numbers)?;
        let outcome = if numbers.any_failed() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        Ok((outcome, numbers))
    }

    /// One after the other; `false` if the run was stopped.
    fn take_back_all(
        &mut self,
        chosen: &[(ResourceId, Record)],
        records: &mut Records,
        numbers: &mut Numbers,
    ) -> Result<bool> {
        for (id, record) in chosen {
            if self.stopped() {
                return Ok(false);
            }
            let (id, thing) = (id.clone(), record.resource.identity());
            self.sink.write(What::StepBegan {
                id: id.clone(),
                changes: Vec::new(),
                disruptive: matches!(record.resource, Resource::HnsNetwork(_)),
            })?;
            match self.take_back(&id, record, records) {
                Ok(()) => {
                    numbers.set(&id, Fate::Changed);
                    self.sink.write(What::StepRemoved { id, thing })?;
                }
                Err(failure) => {
                    numbers.set(&id, Fate::Failed);
                    self.sink.write(What::StepFailed { id, failure })?;
                }
            }
        }
        Ok(true)
    }

    /// The proof: each thing is looked for once more when all are gone, since a
    /// program that was still ending may have put one back. What is there has its
    /// record again, so that the next run takes it back.
    fn look_again(
        &mut self,
        chosen: &[(ResourceId, Record)],
        records: &mut Records,
        numbers: &mut Numbers,
    ) -> Result<()> {
        let mut left = Vec::new();
        let mut things = 0;
        for (id, record) in chosen {
            // What could not be taken back has its record, and was told.
            if records.get(id).is_some() || !kinds::is_thing(&record.resource) {
                continue;
            }
            things += 1;
            self.insist(record);
            if self.is_left(record) {
                records.put(id, &record.resource, record.prior.clone())?;
                numbers.set(id, Fate::Failed);
                left.push(record.resource.identity());
                let failure = left_behind(&record.resource);
                self.sink.write(What::StepFailed {
                    id: id.clone(),
                    failure,
                })?;
            }
        }
        self.sink.write(What::Looked { things, left })
    }

    /// A program that was still ending may have put a thing back: a folder that it
    /// makes when it starts, a file that it writes when it stops.
    fn insist(&self, record: &Record) {
        const TRIES: u32 = 10;
        const PAUSE: Duration = Duration::from_millis(500);
        let secrets = BTreeMap::new();
        for _ in 0..TRIES {
            if !self.is_left(record) {
                return;
            }
            // Whether it helped is seen, not told.
            let at = self.place(false, &secrets);
            let _ = kinds::undo(&at, &record.resource, &record.prior);
            self.platform.pause(PAUSE);
        }
    }

    /// Whether a thing is as casement made it, and not as it was before. That it
    /// cannot be looked at any more, is one of the ways of being gone.
    fn is_left(&self, record: &Record) -> bool {
        let secrets = BTreeMap::new();
        let at = self.place(false, &secrets);
        let as_made = kinds::look(&at, &record.resource).is_ok_and(|diff| diff.is_right());
        let as_before = || kinds::prior(&at, &record.resource).is_ok_and(|now| now == record.prior);
        as_made && !as_before()
    }

    /// A running program writes into the folders that are about to go. One
    /// that cannot be stopped is reported when its own turn comes.
    fn stop_services(&self, chosen: &[(ResourceId, Record)]) {
        for (_, record) in chosen {
            if let Resource::Service(service) = &record.resource {
                let _ = self.platform.stop_service(&service.definition.name);
            }
        }
    }

    fn take_back(&self, id: &ResourceId, record: &Record, records: &mut Records) -> Result<()> {
        let secrets = BTreeMap::new();
        kinds::undo(
            &self.place(false, &secrets),
            &record.resource,
            &record.prior,
        )?;
        records.forget(id)
    }
}

fn left_behind(resource: &Resource) -> Failure {
    Failure::new(
        Code::LeftBehind,
        format!("{} was taken back, and is there again", resource.identity()),
        "end what puts it there, then reset again",
    )
}
