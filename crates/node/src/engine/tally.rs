//! Counts what became of each step, over all parts of a run that was cut off.

use std::collections::BTreeMap;

use casement_resource::ResourceId;
use casement_resource::wire::{Event, Tally, What};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Changed,
    Right,
    Failed,
    Skipped,
}

/// What became of each step.
#[derive(Debug, Default)]
pub(super) struct Numbers(BTreeMap<ResourceId, Fate>);

impl Numbers {
    pub(super) fn set(&mut self, id: &ResourceId, fate: Fate) {
        self.0.insert(id.clone(), fate);
    }

    /// What an earlier part of the run has begun to change, counts as changed
    /// although it is right by now.
    pub(super) fn add_before(&mut self, before: &[Event]) {
        for event in before {
            let What::StepBegan { id, .. } = &event.what else {
                continue;
            };
            let fate = self.0.entry(id.clone()).or_insert(Fate::Changed);
            if *fate == Fate::Right {
                *fate = Fate::Changed;
            }
        }
    }

    pub(super) fn any_failed(&self) -> bool {
        self.0.values().any(|fate| *fate == Fate::Failed)
    }

    pub(super) fn count(&self) -> Tally {
        let mut tally = Tally::default();
        for fate in self.0.values() {
            *match fate {
                Fate::Changed => &mut tally.changed,
                Fate::Right => &mut tally.right,
                Fate::Failed => &mut tally.failed,
                Fate::Skipped => &mut tally.skipped,
            } += 1;
        }
        tally
    }
}
