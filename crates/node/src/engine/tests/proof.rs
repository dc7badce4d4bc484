//! What `remove` says at its end: everything was looked for again.

use casement_resource::Code;
use casement_resource::wire::{Event, Outcome, RemoveWhat, What};

use super::{Engine, Journal, Result, Rig, Sim, Sink, Task, Token, full, windows_host};
use crate::sim::Thing;
use crate::state::order::Order;

/// Somebody who puts a thing back as soon as it was taken away.
struct Stubborn<'a> {
    journal: Journal,
    sim: &'a Sim,
    path: &'a str,
    entry: &'a (Thing, String),
}

impl Sink for Stubborn<'_> {
    fn write(&mut self, what: What) -> Result<()> {
        if let What::StepRemoved { thing, .. } = &what
            && thing.ends_with(self.path)
        {
            let (path, entry) = (self.path.parse().unwrap(), self.entry.clone());
            self.sim.meddle(|world| {
                world.entries.insert(path, entry);
            });
        }
        self.journal.append(what).map(drop)
    }
}

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
fn what_is_put_back_behind_its_back_is_found_and_taken_by_the_next_run() {
    let mut rig = Rig::new(windows_host());
    let before = rig.sim.world();
    rig.converge(&full());
    let path = r"C:\k\hosts";
    let entry = rig.sim.world().entries[&path.parse().unwrap()].clone();
    let order = rig.order(Task::Remove(RemoveWhat::All));
    let outcome = remove_with(&rig, &order, path, &entry);
    assert_eq!(outcome, Outcome::Failed);
    let events = rig.events(&order);
    let (_, left) = looked(&events).unwrap();
    assert_eq!(left, [format!("file {path}")]);
    let told = events.iter().any(|event| {
        matches!(&event.what, What::StepFailed { failure, .. } if failure.code == Code::LeftBehind)
    });
    assert!(told);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}

fn remove_with(rig: &Rig, order: &Order, path: &str, entry: &(Thing, String)) -> Outcome {
    order.save(&rig.layout).unwrap();
    let (journal, before) = Journal::open(&rig.layout, &order.run).unwrap();
    let mut sink = Stubborn {
        journal,
        sim: &rig.sim,
        path,
        entry,
    };
    let mut engine = Engine {
        platform: &rig.sim,
        layout: &rig.layout,
        sink: &mut sink,
        secrets: &Token,
        stop: &false.into(),
    };
    engine.run(order, &before).unwrap()
}
