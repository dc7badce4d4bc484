//! The engine on the simulated host.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use casement_resource::wire::{Event, ObservedStep, Outcome, RemoveWhat, What};
use casement_resource::{NodeDocument, Secret, SecretName};

use super::documents::linux::{linux_full, linux_host};
use super::documents::{self, document, full, full_with_secret, windows_host, with_after};
use super::{Engine, SecretSource, Sink, observe};
use crate::platform::Result;
use crate::recorded::{Book, Recorded};
use crate::sim::{Faults, Killed, Sim, World};
use crate::state::Layout;
use crate::state::journal::Journal;
use crate::state::order::{Order, Task};

mod adapters;
mod bad_cases;
mod containers;
mod docker;
mod failures;
mod faults;
mod images;
mod kills;
mod linux;
#[path = "tests/verification.rs"]
mod proof;
mod properties;
#[path = "tests/coverage.rs"]
mod reach;
mod reboots;
mod restarts;
mod secrets;
mod semantics;
mod shared;

/// A simulated host with its state folder.
struct Rig {
    sim: Sim,
    /// What the host was asked.
    book: Arc<Book>,
    layout: Layout,
    _folder: tempfile::TempDir,
    runs: u32,
}

impl Rig {
    fn new(world: World) -> Self {
        // In memory where there is such a place: these tests sync a lot.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let sim = Sim::new(world);
        layout.prepare(&sim).unwrap();
        Self {
            sim,
            book: Arc::default(),
            layout,
            _folder: folder,
            runs: 0,
        }
    }

    fn order(&mut self, task: Task) -> Order {
        self.runs += 1;
        Order {
            run: format!("r{}", self.runs).parse().unwrap(),
            controller: "test".to_owned(),
            task,
        }
    }

    /// Carries an order out; none if the process was killed.
    fn carry_out(&self, order: &Order) -> Option<(Outcome, Vec<Event>)> {
        order.save(&self.layout).unwrap();
        let (journal, before) = Journal::open(&self.layout, &order.run).unwrap();
        let mut sink = KillableSink {
            journal,
            sim: &self.sim,
        };
        let outcome = self.engine(&mut sink, |engine| engine.run(order, &before).unwrap())?;
        Some((outcome, self.events(order)))
    }

    /// Works with an engine; none if the process was killed.
    fn engine<T>(&self, sink: &mut dyn Sink, work: impl FnOnce(&mut Engine<'_>) -> T) -> Option<T> {
        let mut engine = Engine {
            platform: &Recorded::new(&self.sim, Arc::clone(&self.book)),
            layout: &self.layout,
            sink,
            secrets: &Token,
            stop: &AtomicBool::new(false),
        };
        match catch_unwind(AssertUnwindSafe(|| work(&mut engine))) {
            Ok(done) => Some(done),
            Err(payload) if payload.is::<Killed>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    fn events(&self, order: &Order) -> Vec<Event> {
        crate::state::journal::events(&self.layout, &order.run)
            .unwrap()
            .unwrap()
    }

    fn converge(&mut self, document: &NodeDocument) -> (Outcome, Vec<Event>) {
        let order = self.order(Task::Converge(document.clone()));
        self.carry_out(&order).unwrap()
    }

    fn remove(&mut self) -> Outcome {
        let order = self.order(Task::Remove(RemoveWhat::All));
        self.carry_out(&order).unwrap().0
    }
}

/// A journal at whose every write the process may be killed.
struct KillableSink<'a> {
    journal: Journal,
    sim: &'a Sim,
}

impl Sink for KillableSink<'_> {
    fn write(&mut self, what: What) -> Result<()> {
        self.sim.point();
        self.journal.append(what)?;
        self.sim.point();
        Ok(())
    }
}

/// Always has the token.
struct Token;

/// What it is, whichever secret is asked for.
const TOKEN: &str = "abcdef.0123456789abcdef";

impl SecretSource for Token {
    fn get(&self, _name: &SecretName) -> Option<Secret> {
        Some(Secret::new(TOKEN.to_owned()))
    }

    fn wait(&self, _names: &[SecretName]) -> bool {
        true
    }

    fn forget(&self, _name: &SecretName) {}
}

fn failed(events: &[Event]) -> BTreeMap<String, casement_resource::Failure> {
    let failures = events.iter().filter_map(|event| match &event.what {
        What::StepFailed { id, failure } => Some((id.to_string(), failure.clone())),
        _ => None,
    });
    failures.collect()
}

fn changed(events: &[Event]) -> Vec<String> {
    let changes = events.iter().filter_map(|event| match &event.what {
        What::StepChanged { id, .. } => Some(id.to_string()),
        _ => None,
    });
    changes.collect()
}

/// A host of each system, and a document with something of every kind.
fn hosts() -> [(World, NodeDocument); 2] {
    [
        (windows_host(), full_with_secret()),
        (linux_host(), linux_full()),
    ]
}

#[test]
fn a_second_run_changes_nothing_and_gives_reasons() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host);
        let (outcome, events) = rig.converge(&full);
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        assert_eq!(changed(&events).len(), full.steps().len());
        let world = rig.sim.world();
        let (outcome, events) = rig.converge(&full);
        assert_eq!((outcome, changed(&events)), (Outcome::Done, Vec::new()));
        let reasons = events.iter().filter(
            |event| matches!(&event.what, What::StepRight { reason, .. } if !reason.is_empty()),
        );
        assert_eq!(reasons.count(), full.steps().len());
        assert_eq!(rig.sim.world(), world);
    }
}

/// Everything in a folder, with when it was written.
fn written(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let bytes = fs::read(&path).unwrap_or_default();
        if path.is_dir() {
            found.append(&mut written(&path));
        }
        found.insert(path, (time, bytes));
    }
    found
}

/// No call that changes anything is made, and the agent's own folder stays as it
/// is, whether all is to be done or nothing.
#[test]
fn observing_changes_nothing() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        for made in [false, true] {
            if made {
                assert_eq!(rig.converge(&full).0, Outcome::Done);
            }
            let (world, files) = (rig.sim.world(), written(rig.layout.root()));
            rig.sim.set_faults(Faults::default());
            let seen = observe(&rig.sim, &rig.layout, &full).unwrap();
            let right = |step: &ObservedStep| step.seen.as_ref().unwrap().is_right();
            assert!(seen.steps.iter().all(|step| right(step) == made));
            assert!(rig.sim.looks() > 0);
            assert_eq!(rig.sim.changes(), 0);
            assert_eq!(rig.sim.world(), world);
            assert_eq!(written(rig.layout.root()), files);
        }
    }
}

#[test]
fn removing_restores_what_was_there() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        rig.converge(&full);
        assert_ne!(rig.sim.world(), host);
        assert_eq!(rig.remove(), Outcome::Done);
        assert_eq!(rig.sim.world(), host);
    }
}

#[test]
fn a_moved_file_leaves_nothing_at_its_old_place() {
    let mut rig = Rig::new(windows_host());
    let at = |path: &str| document(vec![documents::file("config", path, "x")]);
    rig.converge(&at(r"C:\new\a\file"));
    rig.converge(&at(r"C:\other"));
    let world = rig.sim.world();
    assert!(
        !world
            .entries
            .keys()
            .any(|path| path.as_str().starts_with(r"C:\new"))
    );
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}
