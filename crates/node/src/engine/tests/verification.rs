//! The verification at the end of a removal.

use casement_resource::Code;
use casement_resource::wire::{Event, EventKind, Outcome, RemoveScope};

use super::{Faults, Rig, Task, full, windows_host};

fn verified(events: &[Event]) -> Option<(u32, Vec<String>)> {
    events.iter().find_map(|event| match &event.kind {
        EventKind::Verified { things, left } => Some((*things, left.clone())),
        _ => None,
    })
}

fn removed(events: &[Event]) -> Vec<&str> {
    let things = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepRemoved { thing, .. } => Some(thing.as_str()),
        _ => None,
    });
    things.collect()
}

#[test]
fn removal_reports_all_objects_and_verifies_that_none_is_left() {
    let mut rig = Rig::new(windows_host());
    let before = rig.sim.world();
    rig.converge(&full());
    let order = rig.order(Task::Remove(RemoveScope::All));
    let (outcome, events) = rig.execute(&order).unwrap();
    assert_eq!(outcome, Outcome::Done);
    let (things, left) = verified(&events).unwrap();
    assert_eq!(left, [""; 0]);
    let removed = removed(&events);
    assert!(things > 0 && things as usize <= removed.len());
    assert!(removed.contains(&"service kubelet"), "{removed:?}");
    assert_eq!(rig.sim.world(), before);
}

#[test]
fn leftovers_are_reported_and_removed_by_the_next_run() {
    let mut rig = Rig::new(windows_host());
    let before = rig.sim.world();
    rig.converge(&full());
    // The call reports success without any effect.
    rig.sim.set_faults(Faults {
        ignored: Some("set_env Old".to_owned()),
        ..Faults::default()
    });
    let order = rig.order(Task::Remove(RemoveScope::All));
    let (outcome, events) = rig.execute(&order).unwrap();
    assert_eq!(outcome, Outcome::Failed);
    let (_, left) = verified(&events).unwrap();
    assert_eq!(left, ["env Old"]);
    let reported = events.iter().any(|event| {
        matches!(&event.kind, EventKind::StepFailed { failure, .. } if failure.code == Code::LeftBehind)
    });
    assert!(reported);
    rig.sim.set_faults(Faults::default());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}
