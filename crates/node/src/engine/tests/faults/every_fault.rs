//! An apply in parts, with a snapshot of the host before each: a fault in a part is
//! tested from its snapshot, and not from the start.

use std::sync::{Arc, Mutex};

use casement_resource::wire::EventKind;

use super::snapshot::{HostSnapshot, SeenStates};
use super::{Case, Faults, Rig, apply, assert_same};
use crate::engine::EventSink;
use crate::engine::converge::ConvergeState;
use crate::platform::Result;
use crate::sim::Sim;
use crate::state::applied;
use crate::state::records::Records;

/// A step of a document, or what comes before its steps (`None`), in one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part {
    document: usize,
    step: Option<usize>,
    boot: u32,
}

/// Discards events; each has the kill points of a journal write.
struct KillPointSink<'a>(&'a Sim);

impl EventSink for KillPointSink<'_> {
    fn write(&mut self, _event: EventKind) -> Result<()> {
        self.0.kill_point();
        self.0.kill_point();
        Ok(())
    }
}

impl Part {
    /// `None` if the process exited.
    fn run(self, case: &Case, rig: &Rig, state: &mut ConvergeState) -> Option<()> {
        rig.engine(&mut KillPointSink(&rig.sim), |engine| {
            let mut records = Records::load(engine.layout).unwrap();
            match self.step {
                None => engine.delete_leftover_secrets(&records),
                Some(step) => {
                    let step = &case.documents[self.document].steps()[step];
                    assert!(engine.run_step(step, state, &mut records).unwrap());
                }
            }
        })
    }

    /// Continues like a controller: a failed stage is the last one, and a rebooted host
    /// resumes its stage.
    fn continue_apply(
        self,
        case: &Case,
        rig: &mut Rig,
        state: &mut ConvergeState,
        passed: Option<()>,
    ) {
        let document = &case.documents[self.document];
        let rest = &document.steps()[self.step.map_or(0, |step| step + 1)..];
        let result = passed.and_then(|()| {
            rig.engine(&mut KillPointSink(&rig.sim), |engine| {
                let mut records = Records::load(engine.layout).unwrap();
                for step in rest {
                    assert!(engine.run_step(step, state, &mut records).unwrap());
                }
            })
        });
        match result {
            None => drop(apply(rig, &case.documents[self.document..])),
            Some(()) if state.outcomes.any_failed() => {}
            Some(()) => {
                applied::save(&rig.layout, document).unwrap();
                apply(rig, &case.documents[self.document + 1..]);
            }
        }
    }

    fn name(self, case: &Case) -> String {
        let document = &case.documents[self.document];
        let step = self.step.map(|step| document.steps()[step].id.to_string());
        let step = step.unwrap_or_else(|| "before the steps".to_owned());
        format!("{:?}, {step}, boot {}", document.stage(), self.boot)
    }
}

/// An apply without faults. `visit` gets each part, the snapshot before it, and the
/// host after it, with the number of its calls.
fn at_each_part(case: &Case, rig: &Rig, mut visit: impl FnMut(Part, &HostSnapshot, &Rig)) {
    let mut document = 0;
    while let Some(wanted) = case.documents.get(document) {
        let boot = rig.sim.world().boot;
        let steps = std::iter::once(None).chain((0..wanted.steps().len()).map(Some));
        let booted = steps.into_iter().any(|step| {
            let part = Part {
                document,
                step,
                boot,
            };
            let before = HostSnapshot::of(&rig.sim, &rig.layout);
            rig.sim.set_faults(Faults::default());
            let mut state = ConvergeState::default();
            let passed = part.run(case, rig, &mut state);
            assert!(!state.outcomes.any_failed(), "{}", part.name(case));
            visit(part, &before, rig);
            passed.is_none()
        });
        if booted {
            assert_ne!(rig.sim.world().boot, boot);
        } else {
            applied::save(&rig.layout, wanted).unwrap();
            document += 1;
        }
    }
    assert_same(&rig.sim.world(), &case.wanted, &case.name);
}

/// Fails each read and each change of an apply, one at a time; returns the number of
/// reads and changes.
pub(super) fn fail_everywhere(case: &Case) -> (u64, u64) {
    let (mut looks, mut changes) = (0, 0);
    let mut seen: SeenStates<(Part, bool, bool)> = SeenStates::default();
    at_each_part(case, &case.rig(), |part, before, rig| {
        let after = HostSnapshot::of(&rig.sim, &rig.layout);
        let booted = rig.sim.world().boot != part.boot;
        seen.is_new((part, booted, false), &after);
        let faults = every_failure(&rig.sim);
        (looks, changes) = (looks + rig.sim.reads(), changes + rig.sim.changes());
        for fault in faults {
            let mut rig = before.rig();
            let label = format!("{fault:?} in {}", part.name(case));
            rig.sim.set_faults(fault);
            let mut state = ConvergeState::default();
            let passed = part.run(case, &rig, &mut state);
            rig.sim.set_faults(Faults::default());
            let failed = state.outcomes.any_failed();
            let after = HostSnapshot::of(&rig.sim, &rig.layout);
            if seen.is_new((part, passed.is_none(), failed), &after) {
                part.continue_apply(case, &mut rig, &mut state, passed);
                case.assert_recovers(&mut rig, &label);
            }
        }
    });
    println!("{}: {} states after failures", case.name, seen.count());
    (looks, changes)
}

/// Kills an apply at every point: before each read, before and after each change and
/// each event. Returns the number of points.
pub(super) fn kill_everywhere(case: &Case) -> u64 {
    let rig = case.rig();
    let kill_points = KillPoints::of(&rig);
    let mut seen = SeenStates::default();
    at_each_part(case, &rig, |part, _, _| {
        for snapshot in kill_points.take() {
            if seen.is_new((), &snapshot) {
                let label = format!("killed in {}", part.name(case));
                case.assert_recovers(&mut snapshot.rig(), &label);
            }
        }
    });
    println!("{}: {} states after kills", case.name, seen.count());
    kill_points.count()
}

/// One fault for each counted call.
pub(super) fn every_failure(sim: &Sim) -> Vec<Faults> {
    let look = |number| Faults {
        fail_at_read: Some(number),
        ..Faults::default()
    };
    let change = |number| Faults {
        fail_at: Some(number),
        ..Faults::default()
    };
    let changes = (1..=sim.changes()).map(change);
    (1..=sim.reads()).map(look).chain(changes).collect()
}

/// What a kill leaves at each point, without consecutive duplicates, and the number of
/// points.
pub(super) struct KillPoints(Arc<Mutex<(u64, Vec<HostSnapshot>)>>);

impl KillPoints {
    pub(super) fn of(rig: &Rig) -> Self {
        let kill_points: Arc<Mutex<(u64, Vec<HostSnapshot>)>> = Arc::default();
        let (recorded, layout) = (Arc::clone(&kill_points), rig.layout.clone());
        rig.sim.on_kill_point(move |sim| {
            let snapshot = HostSnapshot::of(sim, &layout);
            let mut recorded = recorded.lock().unwrap();
            recorded.0 += 1;
            if recorded.1.last() != Some(&snapshot) {
                recorded.1.push(snapshot);
            }
        });
        Self(kill_points)
    }

    pub(super) fn take(&self) -> Vec<HostSnapshot> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    pub(super) fn count(&self) -> u64 {
        self.0.lock().unwrap().0
    }
}
