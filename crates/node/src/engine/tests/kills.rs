//! A run that is killed at any point and resumed has the same result.

use casement_resource::wire::{Outcome, RemoveScope};

use super::{Faults, Order, Rig, Task, failed, full, hosts, windows_host};

/// Kills at each point in turn: converge, then remove.
#[test]
fn run_killed_at_any_point_has_the_same_result() {
    for (host, full) in hosts() {
        let wanted = {
            let mut rig = Rig::new(host.clone());
            rig.converge(&full);
            rig.sim.world()
        };
        for kill_at in 1.. {
            let mut rig = Rig::new(host.clone());
            let order = rig.order(Task::Converge(full.clone()));
            let killed = execute_with_kill(&rig, &order, kill_at);
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
fn removal_killed_at_any_point_still_restores() {
    for (host, full) in hosts() {
        for kill_at in 1.. {
            let mut rig = Rig::new(host.clone());
            rig.converge(&full);
            let order = rig.order(Task::Remove(RemoveScope::All));
            let killed = execute_with_kill(&rig, &order, kill_at);
            assert_eq!(rig.sim.world(), host, "killed at {kill_at}");
            if !killed {
                break;
            }
        }
    }
}

/// Executes an order and resumes it if it was killed; returns whether it was.
fn execute_with_kill(rig: &Rig, order: &Order, kill_at: u64) -> bool {
    rig.sim.set_faults(Faults {
        kill_at: Some(kill_at),
        ..Faults::default()
    });
    let killed = rig.execute(order).is_none();
    rig.sim.set_faults(Faults::default());
    if killed {
        let (outcome, events) = rig.execute(order).unwrap();
        let failures = failed(&events);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}: {failures:?}");
    }
    killed
}

/// The tally of a resumed run equals that of an uninterrupted one.
#[test]
fn resumed_run_counts_earlier_steps() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(full()));
    rig.sim.set_faults(Faults {
        kill_at: Some(60),
        ..Faults::default()
    });
    assert!(rig.execute(&order).is_none());
    rig.sim.set_faults(Faults::default());
    let (_, events) = rig.execute(&order).unwrap();
    let casement_resource::wire::EventKind::Finished { tally, .. } = events.last().unwrap().kind
    else {
        panic!("the last event is not `Finished`");
    };
    assert_eq!(tally.changed as usize, full().steps().len());
    assert_eq!((tally.in_sync, tally.failed, tally.skipped), (0, 0, 0));
    let numbers: Vec<_> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
}
