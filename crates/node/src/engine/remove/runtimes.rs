//! Container runtimes that are needed to remove their images, and are stopped last.

use casement_resource::{Condition, Resource, ResourceId, ServiceDefinition};

use crate::kinds;
use crate::state::records::{Record, Records};

pub(super) struct Runtimes {
    all: Vec<Condition>,
    /// Runtimes whose whole store is removed.
    removed: Vec<Condition>,
}

impl Runtimes {
    pub(super) fn new(images: &[(ResourceId, Record)], rest: &[(ResourceId, Record)]) -> Self {
        let records = || images.iter().chain(rest).map(|(_, record)| record);
        let condition = |record: &Record| kinds::runtime_condition(&record.resource).cloned();
        let removed = |record: &&Record| kinds::owns_whole_store(&record.resource, &record.prior);
        Self {
            all: records().filter_map(condition).collect(),
            removed: records().filter(removed).filter_map(condition).collect(),
        }
    }

    pub(super) fn is_runtime(&self, service: &ServiceDefinition) -> bool {
        let ready = service.ready.as_ref();
        ready.is_some_and(|ready| self.all.contains(ready))
    }

    /// Whether an image is deleted anyway, with the store.
    pub(super) fn removed_with_store(&self, resource: &Resource) -> bool {
        let image = matches!(resource, Resource::Image(_));
        image
            && kinds::runtime_condition(resource)
                .is_some_and(|condition| self.removed.contains(condition))
    }

    /// An image that could not be removed, and can be only while a service of casement
    /// runs.
    pub(super) fn blocking_image<'a>(
        &self,
        images: &'a [(ResourceId, Record)],
        rest: &[(ResourceId, Record)],
        records: &Records,
    ) -> Option<&'a ResourceId> {
        let is_own = |condition: &Condition| {
            rest.iter().any(|(_, record)| match &record.resource {
                Resource::Service(service) => service.definition.ready.as_ref() == Some(condition),
                _ => false,
            })
        };
        let left = images.iter().filter(|(id, _)| records.get(id).is_some());
        let mut blocking =
            left.filter(|(_, it)| kinds::runtime_condition(&it.resource).is_some_and(is_own));
        blocking.next().map(|(id, _)| id)
    }
}
