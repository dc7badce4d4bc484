//! A removal with a fault at every place: whatever fails or is killed, the next
//! removal ends where an undisturbed one does.

use std::fs;
use std::path::Path;

use casement_resource::wire::{Outcome, RemoveWhat};

use super::super::semantics::live_in;
use super::{Case, Chance, Faults, ROWS, Rig, Task, assert_same, failed, in_every_case, seed};
use crate::sim::{Sim, World};

/// A host on which everything was made, for copies to begin with: to make it
/// anew for each fault would take most of the time.
struct Made<'a> {
    case: &'a Case,
    rig: Rig,
}

impl<'a> Made<'a> {
    fn new(case: &'a Case) -> Self {
        let mut rig = case.rig();
        assert!(case.apply(&mut rig), "{}", case.name);
        rig.sim.meddle(|world| inhabit(world, case));
        Self { case, rig }
    }

    fn copy(&self) -> Rig {
        let mut rig = Rig::new(self.rig.sim.world());
        copy_folder(self.rig.layout.root(), rig.layout.root());
        rig.runs = self.rig.runs;
        rig
    }

    /// Puts a fault at each of these places in turn, until one is beyond the end
    /// of a removal; `passed` tells how many places there were.
    fn at_each(
        &self,
        places: impl Iterator<Item = u64>,
        fault: impl Fn(u64) -> Faults,
        passed: impl Fn(&Sim) -> u64,
    ) {
        for place in places {
            let mut rig = self.copy();
            let faults = fault(place);
            let told = format!("{faults:?}");
            rig.sim.set_faults(faults);
            begin_removal(&mut rig);
            if passed(&rig.sim) < place {
                assert!(place > 10, "{} has only {place} places", self.case.name);
                return;
            }
            self.assert_made_good(&mut rig, &told);
        }
    }

    /// A removal without a fault must end well, and leave what was there before.
    fn assert_made_good(&self, rig: &mut Rig, fault: &str) {
        let told = format!("{}, a removal with {fault}", self.case.name);
        rig.sim.set_faults(Faults::default());
        let order = rig.order(Task::Remove(RemoveWhat::All));
        let (outcome, events) = rig.carry_out(&order).unwrap();
        assert_eq!(outcome, Outcome::Done, "{told}: {:?}", failed(&events));
        assert_same(&rig.sim.world(), &self.case.removed, &told);
    }
}

/// Puts there what the programs of a Windows node have put there by the time that
/// somebody takes it back: a pod, with its endpoint and a load balancer.
fn inhabit(world: &mut World, case: &Case) {
    if world.linux.is_some() {
        return;
    }
    world.run_container("pod");
    let theirs = |name: &str| case.host.networks.iter().any(|it| it.name == name);
    let mut names = world.networks.iter().map(|it| it.name.clone());
    if let Some(name) = names.rfind(|name| !theirs(name)) {
        live_in(world, &name);
    }
}

/// A removal, however it ends.
fn begin_removal(rig: &mut Rig) {
    let order = rig.order(Task::Remove(RemoveWhat::All));
    rig.carry_out(&order);
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_change_that_fails_in_a_removal_is_made_good_whichever_it_is() {
    in_every_case(|case| {
        let fault = |number| Faults {
            fail_at: Some(number),
            ..Faults::default()
        };
        Made::new(case).at_each(1.., fault, Sim::changes);
    });
}

#[test]
fn a_kill_in_a_removal_is_made_good_wherever_it_is() {
    in_every_case(|case| {
        let fault = |point| Faults {
            kill_at: Some(point),
            ..Faults::default()
        };
        Made::new(case).at_each(1.., fault, Sim::points);
    });
}

#[test]
fn a_look_that_fails_in_a_removal_is_made_good_whichever_it_is() {
    in_every_case(|case| {
        let fault = |number| Faults {
            fail_at_look: Some(number),
            ..Faults::default()
        };
        Made::new(case).at_each(case.looks(), fault, Sim::looks);
    });
}

#[test]
fn a_kill_at_a_look_in_a_removal_is_made_good_wherever_it_is() {
    in_every_case(|case| {
        let fault = |number| Faults {
            kill_at_look: Some(number),
            ..Faults::default()
        };
        Made::new(case).at_each(case.looks(), fault, Sim::looks);
    });
}

/// Removals that are cut off one after the other.
#[test]
fn rows_of_faults_in_removals_are_made_good() {
    let seed = seed();
    in_every_case(|case| {
        let made = Made::new(case);
        for row in 0..ROWS / 20 {
            let mut chance = Chance(seed.wrapping_add(row << 32));
            let mut rig = made.copy();
            let mut told = Vec::new();
            for _ in 0..=chance.below(3) {
                let faults = chance.faults();
                told.push(format!("{faults:?}"));
                rig.sim.set_faults(faults);
                begin_removal(&mut rig);
            }
            let told = told.join(", ");
            made.assert_made_good(
                &mut rig,
                &format!("CASEMENT_SEED={seed}, row {row}: {told}"),
            );
        }
    });
}
