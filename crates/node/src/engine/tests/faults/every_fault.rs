//! An apply, part by part, with the host held still before each: a fault in a part
//! is tried from there, and not from the beginning of everything.

use std::sync::{Arc, Mutex};

use casement_resource::wire::What;

use super::still::{Known, Still};
use super::{Case, Faults, Rig, apply, assert_same};
use crate::engine::Sink;
use crate::engine::converge::Walk;
use crate::platform::Result;
use crate::sim::Sim;
use crate::state::kept;
use crate::state::records::Records;

/// What comes before the steps of a document, or one of the steps, in some boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part {
    document: usize,
    step: Option<usize>,
    boot: u32,
}

/// Where events go that nobody reads; the process may be killed at each of them.
struct Points<'a>(&'a Sim);

impl Sink for Points<'_> {
    fn write(&mut self, _what: What) -> Result<()> {
        self.0.point();
        self.0.point();
        Ok(())
    }
}

impl Part {
    /// Does it; none if the process ended in it.
    fn pass(self, case: &Case, rig: &Rig, walk: &mut Walk) -> Option<()> {
        rig.engine(&mut Points(&rig.sim), |engine| {
            let mut records = Records::load(engine.layout).unwrap();
            match self.step {
                None => engine.sweep(&records),
                Some(step) => {
                    let step = &case.documents[self.document].steps()[step];
                    assert!(engine.pass(step, walk, &mut records).unwrap());
                }
            }
        })
    }

    /// Goes on after it as a controller does: a stage that did not end well is the
    /// last, and a host that went down goes on with its stage.
    fn go_on(self, case: &Case, rig: &mut Rig, walk: &mut Walk, passed: Option<()>) {
        let document = &case.documents[self.document];
        let rest = &document.steps()[self.step.map_or(0, |step| step + 1)..];
        let ended = passed.and_then(|()| {
            rig.engine(&mut Points(&rig.sim), |engine| {
                let mut records = Records::load(engine.layout).unwrap();
                for step in rest {
                    assert!(engine.pass(step, walk, &mut records).unwrap());
                }
            })
        });
        match ended {
            None => drop(apply(rig, &case.documents[self.document..])),
            Some(()) if walk.numbers.any_failed() => {}
            Some(()) => {
                kept::keep(&rig.layout, document).unwrap();
                apply(rig, &case.documents[self.document + 1..]);
            }
        }
    }

    fn told(self, case: &Case) -> String {
        let document = &case.documents[self.document];
        let step = self.step.map(|step| document.steps()[step].id.to_string());
        let step = step.unwrap_or_else(|| "before the steps".to_owned());
        format!("{:?}, {step}, boot {}", document.stage(), self.boot)
    }
}

/// An apply that nothing disturbs; `visit` gets each part, the host before it, and
/// the host after it, which has counted its calls.
fn at_each_part(case: &Case, rig: &Rig, mut visit: impl FnMut(Part, &Still, &Rig)) {
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
            let before = Still::of(&rig.sim, &rig.layout);
            rig.sim.set_faults(Faults::default());
            let mut walk = Walk::default();
            let passed = part.pass(case, rig, &mut walk);
            assert!(!walk.numbers.any_failed(), "{}", part.told(case));
            visit(part, &before, rig);
            passed.is_none()
        });
        if booted {
            assert_ne!(rig.sim.world().boot, boot);
        } else {
            kept::keep(&rig.layout, wanted).unwrap();
            document += 1;
        }
    }
    assert_same(&rig.sim.world(), &case.wanted, &case.name);
}

/// Each look and each change of an apply fails, one at a time; gives how many of
/// each there were.
pub(super) fn fail_everywhere(case: &Case) -> (u64, u64) {
    let (mut looks, mut changes) = (0, 0);
    let mut known: Known<(Part, bool, bool)> = Known::default();
    at_each_part(case, &case.rig(), |part, before, rig| {
        let after = Still::of(&rig.sim, &rig.layout);
        let booted = rig.sim.world().boot != part.boot;
        known.is_new((part, booted, false), &after);
        let faults = every_failure(&rig.sim);
        (looks, changes) = (looks + rig.sim.looks(), changes + rig.sim.changes());
        for fault in faults {
            let mut rig = before.rig();
            let told = format!("{fault:?} in {}", part.told(case));
            rig.sim.set_faults(fault);
            let mut walk = Walk::default();
            let passed = part.pass(case, &rig, &mut walk);
            rig.sim.set_faults(Faults::default());
            let failed = walk.numbers.any_failed();
            let after = Still::of(&rig.sim, &rig.layout);
            if known.is_new((part, passed.is_none(), failed), &after) {
                part.go_on(case, &mut rig, &mut walk, passed);
                case.assert_made_good(&mut rig, &told);
            }
        }
    });
    println!("{}: {} states after failures", case.name, known.count());
    (looks, changes)
}

/// The process is killed at every moment of an apply: before each look, before and
/// after each change and each event. Gives how many moments there were.
pub(super) fn kill_everywhere(case: &Case) -> u64 {
    let rig = case.rig();
    let moments = Moments::of(&rig);
    let mut known = Known::default();
    at_each_part(case, &rig, |part, _, _| {
        for still in moments.take() {
            if known.is_new((), &still) {
                let told = format!("killed in {}", part.told(case));
                case.assert_made_good(&mut still.rig(), &told);
            }
        }
    });
    println!("{}: {} states after kills", case.name, known.count());
    moments.count()
}

/// Every failure of one call that was counted.
pub(super) fn every_failure(sim: &Sim) -> Vec<Faults> {
    let look = |number| Faults {
        fail_at_look: Some(number),
        ..Faults::default()
    };
    let change = |number| Faults {
        fail_at: Some(number),
        ..Faults::default()
    };
    let changes = (1..=sim.changes()).map(change);
    (1..=sim.looks()).map(look).chain(changes).collect()
}

/// What a kill leaves at each moment, one after the other; the same as before is
/// only counted.
pub(super) struct Moments(Arc<Mutex<(u64, Vec<Still>)>>);

impl Moments {
    pub(super) fn of(rig: &Rig) -> Self {
        let moments: Arc<Mutex<(u64, Vec<Still>)>> = Arc::default();
        let (kept, layout) = (Arc::clone(&moments), rig.layout.clone());
        rig.sim.on_moment(move |sim| {
            let still = Still::of(sim, &layout);
            let mut kept = kept.lock().unwrap();
            kept.0 += 1;
            if kept.1.last() != Some(&still) {
                kept.1.push(still);
            }
        });
        Self(moments)
    }

    pub(super) fn take(&self) -> Vec<Still> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    pub(super) fn count(&self) -> u64 {
        self.0.lock().unwrap().0
    }
}
