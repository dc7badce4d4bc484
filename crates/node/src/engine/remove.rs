//! Taking back what casement made, what was made last first.

use std::collections::BTreeMap;

use casement_resource::wire::{Outcome, RemoveWhat, What};
use casement_resource::{Resource, ResourceId};

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
        if !self.take_back_all(first, records, &mut numbers)? {
            return Ok((Outcome::Stopped, numbers));
        }
        self.stop_services(&rest);
        if !self.take_back_all(rest, records, &mut numbers)? {
            return Ok((Outcome::Stopped, numbers));
        }
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
        chosen: Vec<(ResourceId, Record)>,
        records: &mut Records,
        numbers: &mut Numbers,
    ) -> Result<bool> {
        for (id, record) in chosen {
            if self.stopped() {
                return Ok(false);
            }
            self.sink.write(What::StepBegan {
                id: id.clone(),
                changes: Vec::new(),
                disruptive: matches!(record.resource, Resource::HnsNetwork(_)),
            })?;
            match self.take_back(&id, &record, records) {
                Ok(()) => {
                    numbers.set(&id, Fate::Changed);
                    self.sink.write(What::StepRemoved { id })?;
                }
                Err(failure) => {
                    numbers.set(&id, Fate::Failed);
                    self.sink.write(What::StepFailed { id, failure })?;
                }
            }
        }
        Ok(true)
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
