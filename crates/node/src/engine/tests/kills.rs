//! Killed anywhere, gone on with, and the same in the end.

use casement_resource::wire::{Outcome, RemoveWhat};

use super::{Faults, Order, Rig, Task, failed, full, hosts, windows_host};

/// Kills at every point in turn: converge, and then remove.
#[test]
fn killed_at_every_point_the_end_is_the_same() {
    for (host, full) in hosts() {
        let wanted = {
            let mut rig = Rig::new(host.clone());
            rig.converge(&full);
            rig.sim.world()
        };
        for kill_at in 1.. {
            let mut rig = Rig::new(host.clone());
            let order = rig.order(Task::Converge(full.clone()));
            let killed = killed_at(&rig, &order, kill_at);
            assert_eq!(rig.sim.world(), wanted, "killed at {kill_at}");
            assert_eq!(rig.remove(), Outcome::Done, "killed at {kill_at}");
            assert_eq!(rig.sim.world(), host, "killed at {kill_at}");
            if !killed {
                assert!(kill_at > 100, "a run has only {kill_at} points");
                break;
            }
        }
    }
}

#[test]
fn a_removal_killed_at_every_point_still_restores() {
    for (host, full) in hosts() {
        for kill_at in 1.. {
            let mut rig = Rig::new(host.clone());
            rig.converge(&full);
            let order = rig.order(Task::Remove(RemoveWhat::All));
            let killed = killed_at(&rig, &order, kill_at);
            assert_eq!(rig.sim.world(), host, "killed at {kill_at}");
            if !killed {
                break;
            }
        }
    }
}

/// Carries an order out and, if it was killed at that point, goes on with it;
/// says whether it was.
fn killed_at(rig: &Rig, order: &Order, kill_at: u64) -> bool {
    rig.sim.set_faults(Faults {
        kill_at: Some(kill_at),
        ..Faults::default()
    });
    let killed = rig.carry_out(order).is_none();
    rig.sim.set_faults(Faults::default());
    if killed {
        let (outcome, events) = rig.carry_out(order).unwrap();
        let failures = failed(&events);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}: {failures:?}");
    }
    killed
}

/// The numbers of a run that was cut off are those of one that was not.
#[test]
fn a_resumed_run_counts_what_it_did_before() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(full()));
    rig.sim.set_faults(Faults {
        kill_at: Some(60),
        ..Faults::default()
    });
    assert!(rig.carry_out(&order).is_none());
    rig.sim.set_faults(Faults::default());
    let (_, events) = rig.carry_out(&order).unwrap();
    let casement_resource::wire::What::Finished { tally, .. } = events.last().unwrap().what else {
        panic!("the last event is not the end");
    };
    assert_eq!(tally.changed as usize, full().steps().len());
    assert_eq!((tally.right, tally.failed, tally.skipped), (0, 0, 0));
    let numbers: Vec<_> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
}
