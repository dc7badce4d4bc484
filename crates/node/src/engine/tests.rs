//! The engine on a simulated host.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use casement_resource::wire::{Event, EventKind, ObservedStep, Outcome, RemoveScope};
use casement_resource::{NodeDocument, Secret, SecretName};

use super::documents::linux::{linux_full, linux_host};
use super::documents::{self, document, full, full_with_secret, windows_host, with_after};
use super::{Engine, EventSink, SecretSource, observe};
use crate::platform::Result;
use crate::recorder::{CallRecorder, RecordingPlatform};
use crate::sim::{Faults, Killed, Sim, World};
use crate::state::Layout;
use crate::state::journal::Journal;
use crate::state::order::{Order, Task};

mod adapters;
mod bad_cases;
mod containers;
mod coverage;
mod docker;
mod failures;
mod faults;
mod images;
mod kills;
mod linux;
mod properties;
mod reboots;
mod restarts;
mod secrets;
mod semantics;
mod shared;
mod verification;

/// A simulated host with its state folder.
struct Rig {
    sim: Sim,
    recorder: Arc<CallRecorder>,
    layout: Layout,
    _folder: tempfile::TempDir,
    runs: u32,
}

impl Rig {
    fn new(world: World) -> Self {
        // In memory if possible: these tests sync a lot.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let sim = Sim::new(world);
        layout.prepare(&sim).unwrap();
        Self {
            sim,
            recorder: Arc::default(),
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

    /// `None` if the process was killed.
    fn execute(&self, order: &Order) -> Option<(Outcome, Vec<Event>)> {
        order.save(&self.layout).unwrap();
        let (journal, before) = Journal::open(&self.layout, &order.run).unwrap();
        let mut sink = KillableSink {
            journal,
            sim: &self.sim,
        };
        let outcome = self.engine(&mut sink, |engine| engine.run(order, &before).unwrap())?;
        Some((outcome, self.events(order)))
    }

    /// `None` if the process was killed.
    fn engine<T>(
        &self,
        sink: &mut dyn EventSink,
        work: impl FnOnce(&mut Engine<'_>) -> T,
    ) -> Option<T> {
        let mut engine = Engine {
            platform: &RecordingPlatform::new(&self.sim, Arc::clone(&self.recorder)),
            layout: &self.layout,
            sink,
            secrets: &FixedSecrets,
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
        self.execute(&order).unwrap()
    }

    fn remove(&mut self) -> Outcome {
        let order = self.order(Task::Remove(RemoveScope::All));
        self.execute(&order).unwrap().0
    }
}

/// A journal with kill points before and after each write.
struct KillableSink<'a> {
    journal: Journal,
    sim: &'a Sim,
}

impl EventSink for KillableSink<'_> {
    fn write(&mut self, event: EventKind) -> Result<()> {
        self.sim.kill_point();
        self.journal.append(event)?;
        self.sim.kill_point();
        Ok(())
    }
}

struct FixedSecrets;

/// The value of every secret.
const TOKEN: &str = "abcdef.0123456789abcdef";

impl SecretSource for FixedSecrets {
    fn get(&self, _name: &SecretName) -> Option<Secret> {
        Some(Secret::new(TOKEN.to_owned()))
    }

    fn wait(&self, _names: &[SecretName]) -> bool {
        true
    }

    fn forget(&self, _name: &SecretName) {}
}

fn failed(events: &[Event]) -> BTreeMap<String, casement_resource::Failure> {
    let failures = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepFailed { id, failure } => Some((id.to_string(), failure.clone())),
        _ => None,
    });
    failures.collect()
}

fn changed(events: &[Event]) -> Vec<String> {
    let changes = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepChanged { id, .. } => Some(id.to_string()),
        _ => None,
    });
    changes.collect()
}

/// A host of each system, with a document that has resources of every kind.
fn hosts() -> [(World, NodeDocument); 2] {
    [
        (windows_host(), full_with_secret()),
        (linux_host(), linux_full()),
    ]
}

#[test]
fn second_run_changes_nothing_and_reports_reasons() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host);
        let (outcome, events) = rig.converge(&full);
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        assert_eq!(changed(&events).len(), full.steps().len());
        let world = rig.sim.world();
        let (outcome, events) = rig.converge(&full);
        assert_eq!((outcome, changed(&events)), (Outcome::Done, Vec::new()));
        let reasons = events.iter().filter(
            |event| matches!(&event.kind, EventKind::StepInSync { reason, .. } if !reason.is_empty()),
        );
        assert_eq!(reasons.count(), full.steps().len());
        assert_eq!(rig.sim.world(), world);
    }
}

/// The content and modification time of all files in a folder.
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

/// Neither the host nor the state folder changes, whether or not the document is
/// applied.
#[test]
fn observe_changes_nothing() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        for applied in [false, true] {
            if applied {
                assert_eq!(rig.converge(&full).0, Outcome::Done);
            }
            let (world, files) = (rig.sim.world(), written(rig.layout.root()));
            rig.sim.set_faults(Faults::default());
            let observation = observe(&rig.sim, &rig.layout, &full).unwrap();
            let in_sync = |step: &ObservedStep| step.result.as_ref().unwrap().in_sync();
            assert!(
                observation
                    .steps
                    .iter()
                    .all(|step| in_sync(step) == applied)
            );
            assert!(rig.sim.reads() > 0);
            assert_eq!(rig.sim.changes(), 0);
            assert_eq!(rig.sim.world(), world);
            assert_eq!(written(rig.layout.root()), files);
        }
    }
}

#[test]
fn removal_restores_the_prior_state() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        rig.converge(&full);
        assert_ne!(rig.sim.world(), host);
        assert_eq!(rig.remove(), Outcome::Done);
        assert_eq!(rig.sim.world(), host);
    }
}

#[test]
fn moved_file_is_deleted_at_its_old_path() {
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
