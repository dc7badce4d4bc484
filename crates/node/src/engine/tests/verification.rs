//! What `remove` says at its end: everything was looked for again.

use casement_resource::Code;
use casement_resource::wire::{Event, Outcome, RemoveWhat, What};

use super::{Faults, Rig, Task, full, windows_host};

fn looked(events: &[Event]) -> Option<(u32, Vec<String>)> {
    events.iter().find_map(|event| match &event.what {
        What::Looked { things, left } => Some((*things, left.clone())),
        _ => None,
    })
}

fn removed(events: &[Event]) -> Vec<&str> {
    let things = events.iter().filter_map(|event| match &event.what {
        What::StepRemoved { thing, .. } => Some(thing.as_str()),
        _ => None,
    });
    things.collect()
}

#[test]
fn the_proof_names_all_that_was_removed_and_that_nothing_is_left() {
    let mut rig = Rig::new(windows_host());
    let before = rig.sim.world();
    rig.converge(&full());
    let order = rig.order(Task::Remove(RemoveWhat::All));
    let (outcome, events) = rig.carry_out(&order).unwrap();
    assert_eq!(outcome, Outcome::Done);
    let (things, left) = looked(&events).unwrap();
    assert_eq!(left, [""; 0]);
    let removed = removed(&events);
    assert!(things > 0 && things as usize <= removed.len());
    assert!(removed.contains(&"service kubelet"), "{removed:?}");
    assert_eq!(rig.sim.world(), before);
}

#[test]
fn what_is_left_is_named_and_taken_by_the_next_run() {
    let mut rig = Rig::new(windows_host());
    let before = rig.sim.world();
    rig.converge(&full());
    // Whoever is asked says that it is done, and does nothing.
    rig.sim.set_faults(Faults {
        lying: Some("set_env Old".to_owned()),
        ..Faults::default()
    });
    let order = rig.order(Task::Remove(RemoveWhat::All));
    let (outcome, events) = rig.carry_out(&order).unwrap();
    assert_eq!(outcome, Outcome::Failed);
    let (_, left) = looked(&events).unwrap();
    assert_eq!(left, ["env Old"]);
    let told = events.iter().any(|event| {
        matches!(&event.what, What::StepFailed { failure, .. } if failure.code == Code::LeftBehind)
    });
    assert!(told);
    rig.sim.set_faults(Faults::default());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}
