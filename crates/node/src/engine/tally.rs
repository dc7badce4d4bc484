//! Counts step outcomes, including those from before a run was resumed.

use std::collections::BTreeMap;

use casement_resource::ResourceId;
use casement_resource::wire::{Event, EventKind, Tally};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Changed,
    Unchanged,
    Failed,
    Skipped,
}

#[derive(Debug, Default)]
pub(super) struct StepOutcomes(BTreeMap<ResourceId, StepOutcome>);

impl StepOutcomes {
    pub(super) fn set(&mut self, id: &ResourceId, outcome: StepOutcome) {
        self.0.insert(id.clone(), outcome);
    }

    /// A step that was started before the run was resumed counts as changed, even if
    /// it is in sync by now.
    pub(super) fn merge(&mut self, previous: &[Event]) {
        for event in previous {
            let EventKind::StepBegan { id, .. } = &event.kind else {
                continue;
            };
            let outcome = self.0.entry(id.clone()).or_insert(StepOutcome::Changed);
            if *outcome == StepOutcome::Unchanged {
                *outcome = StepOutcome::Changed;
            }
        }
    }

    pub(super) fn any_failed(&self) -> bool {
        self.0
            .values()
            .any(|outcome| *outcome == StepOutcome::Failed)
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for outcome in self.0.values() {
            *match outcome {
                StepOutcome::Changed => &mut tally.changed,
                StepOutcome::Unchanged => &mut tally.in_sync,
                StepOutcome::Failed => &mut tally.failed,
                StepOutcome::Skipped => &mut tally.skipped,
            } += 1;
        }
        tally
    }
}
