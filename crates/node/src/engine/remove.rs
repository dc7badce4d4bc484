//! Taking back what casement made, what was made last first.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::wire::{Outcome, RemoveWhat, What};
use casement_resource::{Code, Failure, Resource, ResourceId, ServiceDefinition};

use super::tally::Fate;
use super::{Engine, Numbers};
use crate::kinds;
use crate::platform::Result;
use crate::state::records::{Record, Records};

#[path = "remove/runtimes.rs"]
mod keepers;

use keepers::Keepers;

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
        let is_image = |record: &Record| matches!(record.resource, Resource::Image(_));
        let (images, rest): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|(_, record)| is_image(record));
        let keepers = Keepers::of(&images, &rest);
        self.stop_services(&rest, |service| !keepers.is(service));
        self.let_go(&rest);
        if !self.take_back_all(&images, &keepers, records, &mut numbers)? {
            return Ok((Outcome::Stopped, numbers));
        }
        if let Some(image) = keepers.needed(&images, &rest, records) {
            let ids: Vec<&ResourceId> = rest.iter().map(|(id, _)| id).collect();
            self.leave(&ids, image, &mut numbers)?;
            return Ok((Outcome::Failed, numbers));
        }
        self.stop_services(&rest, |_| true);
        if !self.take_back_all(&rest, &keepers, records, &mut numbers)? {
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
        keepers: &Keepers,
        records: &mut Records,
        numbers: &mut Numbers,
    ) -> Result<bool> {
        let mut left: Vec<(&ResourceId, &Resource)> = Vec::new();
        for (own, record) in chosen {
            if self.stopped() {
                return Ok(false);
            }
            let stands = |it: &&(&ResourceId, &Resource)| kinds::stands_on(it.1, &record.resource);
            if let Some((because, _)) = left.iter().find(stands) {
                self.leave(&[own], because, numbers)?;
                continue;
            }
            let (id, thing) = (own.clone(), record.resource.identity());
            self.sink.write(What::StepBegan {
                id: id.clone(),
                changes: Vec::new(),
                disruptive: matches!(record.resource, Resource::HnsNetwork(_)),
            })?;
            match self.take_back(&id, record, keepers, records) {
                Ok(()) => {
                    numbers.set(&id, Fate::Changed);
                    self.sink.write(What::StepRemoved { id, thing })?;
                }
                Err(failure) => {
                    left.push((own, &record.resource));
                    numbers.set(&id, Fate::Failed);
                    self.sink.write(What::StepFailed { id, failure })?;
                }
            }
        }
        Ok(true)
    }

    /// Tells of each that it is left for the next removal.
    fn leave(
        &mut self,
        ids: &[&ResourceId],
        because: &ResourceId,
        numbers: &mut Numbers,
    ) -> Result<()> {
        for id in ids {
            numbers.set(id, Fate::Skipped);
            self.sink.write(What::StepSkipped {
                id: (*id).clone(),
                because: because.clone(),
            })?;
        }
        Ok(())
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
    fn stop_services(
        &self,
        chosen: &[(ResourceId, Record)],
        which: impl Fn(&ServiceDefinition) -> bool,
    ) {
        for (_, record) in chosen {
            if let Resource::Service(service) = &record.resource
                && which(&service.definition)
            {
                let _ = self.platform.stop_service(&service.definition.name);
            }
        }
    }

    /// Whoever keeps something that casement made lets go of it while it can. What
    /// it does not do, the removal itself does: it need not be told.
    fn let_go(&self, chosen: &[(ResourceId, Record)]) {
        const TRIES: u32 = 3;
        const PAUSE: Duration = Duration::from_millis(500);
        let secrets = BTreeMap::new();
        for (_, record) in chosen {
            if !kinds::takes_all_along(&record.resource, &record.prior) {
                continue;
            }
            for _ in 0..TRIES {
                let at = self.place(false, &secrets);
                if kinds::let_go(&at, &record.resource).is_ok() {
                    break;
                }
                self.platform.pause(PAUSE);
            }
        }
    }

    fn take_back(
        &self,
        id: &ResourceId,
        record: &Record,
        keepers: &Keepers,
        records: &mut Records,
    ) -> Result<()> {
        let secrets = BTreeMap::new();
        let at = self.place(false, &secrets);
        let undone = kinds::undo(&at, &record.resource, &record.prior);
        if !keepers.takes_along(&record.resource) {
            undone?;
        }
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
