//! Who keeps what is to be taken back, and so has to run for a while.

use casement_resource::{Condition, Resource, ResourceId, ServiceDefinition};

use crate::kinds;
use crate::state::records::{Record, Records};

/// Those who keep things that are to be taken back.
pub(super) struct Keepers {
    all: Vec<Condition>,
    /// Those that go with all that they have.
    going: Vec<Condition>,
}

impl Keepers {
    pub(super) fn of(images: &[(ResourceId, Record)], rest: &[(ResourceId, Record)]) -> Self {
        let records = || images.iter().chain(rest).map(|(_, record)| record);
        let keeper = |record: &Record| kinds::keeper(&record.resource).cloned();
        let goes = |record: &&Record| kinds::takes_all_along(&record.resource, &record.prior);
        Self {
            all: records().filter_map(keeper).collect(),
            going: records().filter(goes).filter_map(keeper).collect(),
        }
    }

    /// Whether a service is one.
    pub(super) fn is(&self, service: &ServiceDefinition) -> bool {
        let ready = service.ready.as_ref();
        ready.is_some_and(|ready| self.all.contains(ready))
    }

    /// Whether an image goes anyway, with the folder that it lies in.
    pub(super) fn takes_along(&self, resource: &Resource) -> bool {
        let image = matches!(resource, Resource::Image(_));
        image && kinds::keeper(resource).is_some_and(|keeper| self.going.contains(keeper))
    }

    /// An image that could not be taken back, and can be only while a service of
    /// casement's runs.
    pub(super) fn needed<'a>(
        &self,
        images: &'a [(ResourceId, Record)],
        rest: &[(ResourceId, Record)],
        records: &Records,
    ) -> Option<&'a ResourceId> {
        let ours = |keeper: &Condition| {
            rest.iter().any(|(_, record)| match &record.resource {
                Resource::Service(service) => service.definition.ready.as_ref() == Some(keeper),
                _ => false,
            })
        };
        let left = images.iter().filter(|(id, _)| records.get(id).is_some());
        let mut needed = left.filter(|(_, it)| kinds::keeper(&it.resource).is_some_and(ours));
        needed.next().map(|(id, _)| id)
    }
}
