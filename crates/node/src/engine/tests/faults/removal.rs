//! A removal with a fault at every place: whatever fails or is killed, the next
//! removal ends where an undisturbed one does.

use casement_resource::wire::{Outcome, RemoveWhat};

use super::super::semantics::live_in;
use super::still::{Known, Still};
use super::walk::{Moments, every_failure};
use super::{Case, Chance, Faults, ROWS, Rig, Task, assert_same, failed, in_every_case, seed};
use crate::sim::World;

/// A host on which everything was made, for copies to begin with: to make it
/// anew for each fault would take most of the time.
struct Made<'a> {
    case: &'a Case,
    still: Still,
}

impl<'a> Made<'a> {
    fn new(case: &'a Case) -> Self {
        let mut rig = case.rig();
        assert!(case.apply(&mut rig), "{}", case.name);
        rig.sim.meddle(|world| inhabit(world, case));
        let still = Still::of(&rig.sim, &rig.layout);
        Self { case, still }
    }

    fn copy(&self) -> Rig {
        self.still.rig()
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

#[test]
fn whichever_call_of_a_removal_fails_the_next_makes_it_good() {
    in_every_case(|case| {
        let made = Made::new(case);
        let mut rig = made.copy();
        rig.sim.set_faults(Faults::default());
        begin_removal(&mut rig);
        let faults = every_failure(&rig.sim);
        println!("{}: {} calls in a removal", case.name, faults.len());
        assert!(faults.len() > 50, "{}", case.name);
        let mut known = Known::default();
        for fault in faults {
            let mut rig = made.copy();
            let told = format!("{fault:?}");
            rig.sim.set_faults(fault);
            begin_removal(&mut rig);
            if known.is_new((), &Still::of(&rig.sim, &rig.layout)) {
                made.assert_made_good(&mut rig, &told);
            }
        }
    });
}

#[test]
fn wherever_a_removal_is_killed_the_next_makes_it_good() {
    in_every_case(|case| {
        let made = Made::new(case);
        let mut rig = made.copy();
        let moments = Moments::of(&rig);
        begin_removal(&mut rig);
        println!("{}: {} moments of a removal", case.name, moments.count());
        assert!(moments.count() > 50, "{}", case.name);
        let mut known = Known::default();
        for (number, still) in moments.take().into_iter().enumerate() {
            if known.is_new((), &still) {
                let told = format!("a kill in state {number}");
                made.assert_made_good(&mut still.rig(), &told);
            }
        }
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
