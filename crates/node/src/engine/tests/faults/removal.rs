//! Removals with a fault at every point: whatever fails or is killed, the next removal
//! has the same result as one without faults.

use casement_resource::wire::{Outcome, RemoveScope};

use super::super::semantics::add_pod;
use super::every_fault::{KillPoints, every_failure};
use super::snapshot::{HostSnapshot, SeenStates};
use super::{Case, Faults, Random, Rig, SEQUENCES, Task, assert_same, failed, in_every_case, seed};
use crate::sim::World;

/// A host with an applied document, to copy for each fault: applying it each time would
/// be slow.
struct AppliedCase<'a> {
    case: &'a Case,
    snapshot: HostSnapshot,
}

impl<'a> AppliedCase<'a> {
    fn new(case: &'a Case) -> Self {
        let mut rig = case.rig();
        assert!(case.apply(&mut rig), "{}", case.name);
        rig.sim.modify_world(|world| add_workload(world, case));
        let snapshot = HostSnapshot::of(&rig.sim, &rig.layout);
        Self { case, snapshot }
    }

    fn copy(&self) -> Rig {
        self.snapshot.rig()
    }

    /// A removal without faults must succeed and restore the prior state.
    fn assert_recovers(&self, rig: &mut Rig, fault: &str) {
        let label = format!("{}, a removal with {fault}", self.case.name);
        rig.sim.set_faults(Faults::default());
        let order = rig.order(Task::Remove(RemoveScope::All));
        let (outcome, events) = rig.execute(&order).unwrap();
        assert_eq!(outcome, Outcome::Done, "{label}: {:?}", failed(&events));
        assert_same(&rig.sim.world(), &self.case.removed, &label);
    }
}

/// Adds what a Windows node has at removal: a pod with its endpoint and a load
/// balancer.
fn add_workload(world: &mut World, case: &Case) {
    if world.linux.is_some() {
        return;
    }
    world.run_container("pod");
    let is_foreign = |name: &str| case.host.networks.iter().any(|it| it.name == name);
    let mut names = world.networks.iter().map(|it| it.name.clone());
    if let Some(name) = names.rfind(|name| !is_foreign(name)) {
        add_pod(world, &name);
    }
}

/// Ignores the outcome.
fn start_removal(rig: &mut Rig) {
    let order = rig.order(Task::Remove(RemoveScope::All));
    rig.execute(&order);
}

#[test]
fn next_removal_recovers_from_any_failed_call() {
    in_every_case(|case| {
        let applied = AppliedCase::new(case);
        let mut rig = applied.copy();
        rig.sim.set_faults(Faults::default());
        start_removal(&mut rig);
        let faults = every_failure(&rig.sim);
        println!("{}: {} calls in a removal", case.name, faults.len());
        assert!(faults.len() > 50, "{}", case.name);
        let mut seen = SeenStates::default();
        for fault in faults {
            let mut rig = applied.copy();
            let label = format!("{fault:?}");
            rig.sim.set_faults(fault);
            start_removal(&mut rig);
            if seen.is_new((), &HostSnapshot::of(&rig.sim, &rig.layout)) {
                applied.assert_recovers(&mut rig, &label);
            }
        }
    });
}

#[test]
fn next_removal_recovers_from_any_kill() {
    in_every_case(|case| {
        let applied = AppliedCase::new(case);
        let mut rig = applied.copy();
        let kill_points = KillPoints::of(&rig);
        start_removal(&mut rig);
        println!(
            "{}: {} kill points in a removal",
            case.name,
            kill_points.count()
        );
        assert!(kill_points.count() > 50, "{}", case.name);
        let mut seen = SeenStates::default();
        for (number, snapshot) in kill_points.take().into_iter().enumerate() {
            if seen.is_new((), &snapshot) {
                let label = format!("a kill in state {number}");
                applied.assert_recovers(&mut snapshot.rig(), &label);
            }
        }
    });
}

#[test]
fn removal_recovers_from_random_fault_sequences() {
    let seed = seed();
    in_every_case(|case| {
        let applied = AppliedCase::new(case);
        for sequence in 0..SEQUENCES / 20 {
            let mut random = Random(seed.wrapping_add(sequence << 32));
            let mut rig = applied.copy();
            let mut labels = Vec::new();
            for _ in 0..=random.below(3) {
                let faults = random.faults();
                labels.push(format!("{faults:?}"));
                rig.sim.set_faults(faults);
                start_removal(&mut rig);
            }
            let label = labels.join(", ");
            applied.assert_recovers(
                &mut rig,
                &format!("CASEMENT_SEED={seed}, sequence {sequence}: {label}"),
            );
        }
    });
}
