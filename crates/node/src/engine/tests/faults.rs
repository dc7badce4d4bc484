//! Planned documents, and documents with every kind of resource, with a fault at every
//! point: whatever fails or is killed, the next run has the same result as one without
//! faults, and a removal restores the prior state.

use std::cell::RefCell;
use std::fs;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use casement_plan::offline::documents;
use casement_plan::{ClusterFacts, Inputs};
use casement_resource::wire::{Event, Outcome};
use casement_resource::{Blob, NodeDocument, Sha256, WindowsFeatureFacts};
use casement_spec::{Cluster, Named, Network, NetworkMode, Program};

use super::{
    Faults, Order, Rig, Task, failed, full_with_secret, linux_full, linux_host, windows_host,
};
use crate::sim::World;

mod every_fault;
mod removal;
mod snapshot;

use every_fault::{fail_everywhere, kill_everywhere};
use snapshot::{HostSnapshot, SeenStates};

/// A Windows host of an existing cluster.
const WINDOWS: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: lin1, address: 198.18.0.201, os: linux, roles: [worker]}
    - {name: win1, address: 198.18.0.11, os: windows-2022, roles: [worker]}
";

/// A Linux host of a cluster that casement creates.
const LINUX: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}
  network: {mode: l3-routes}
  hosts:
    - {name: control, address: 198.18.0.10, os: linux, roles: [control-plane]}
    - {name: lin1, address: 198.18.0.11, os: linux, roles: [worker]}
    - {name: win1, address: 198.18.0.12, os: windows-2022, roles: [worker]}
";

/// A host, with the document of each stage.
pub(super) struct Case {
    name: String,
    host: World,
    pub(super) documents: Vec<NodeDocument>,
    /// The host after an apply without faults.
    pub(super) wanted: World,
    /// The host after a removal.
    removed: World,
    /// States after each document, by its index, from which the rest is known to
    /// succeed.
    verified: RefCell<SeenStates<usize>>,
}

impl Case {
    fn new(name: String, host: World, documents: Vec<NodeDocument>) -> Self {
        let mut case = Self {
            name,
            wanted: host.clone(),
            removed: host.clone(),
            verified: RefCell::default(),
            host,
            documents,
        };
        let mut rig = case.rig();
        case.wanted = apply_without_faults(&mut rig, &case.documents);
        assert_ne!(case.wanted, case.host, "{}", case.name);
        if case.wanted.boot != case.host.boot {
            case.removed = restored();
        }
        case
    }

    fn planned(spec: &str, mode: NetworkMode, name: &str, host: World) -> Self {
        let documents = documents_of(spec, name, |cluster| {
            cluster.spec.network = Network::of(mode);
        });
        Self::new(format!("{name}, {}", mode.name()), host, documents)
    }

    fn rig(&self) -> Rig {
        with_blobs(self.host.clone())
    }

    fn apply(&self, rig: &mut Rig) -> bool {
        apply(rig, &self.documents)
    }

    /// The host after an apply with these faults.
    pub(super) fn apply_with(&self, faults: Faults) -> Rig {
        let mut rig = self.rig();
        rig.sim.set_faults(faults);
        self.apply(&mut rig);
        rig
    }

    /// An apply without faults must succeed with the wanted result; then a removal.
    pub(super) fn assert_recovers(&self, rig: &mut Rig, fault: &str) {
        let name = &self.name;
        rig.sim.set_faults(Faults::default());
        for (number, document) in self.documents.iter().enumerate() {
            let (outcome, events) = converge(rig, document);
            let failed = failed(&events);
            assert_eq!(outcome, Outcome::Done, "{name}, {fault}: {failed:?}");
            let snapshot = HostSnapshot::of(&rig.sim, &rig.layout);
            if !self.verified.borrow_mut().is_new(number, &snapshot) {
                return;
            }
        }
        assert_same(&rig.sim.world(), &self.wanted, &format!("{name}, {fault}"));
        assert_eq!(rig.remove(), Outcome::Done, "{name}, {fault}");
        let label = format!("{name}, {fault}: after the removal");
        assert_same(&rig.sim.world(), &self.removed, &label);
    }
}

/// A Windows host with planned documents.
pub(super) fn windows_case(mode: NetworkMode) -> Case {
    Case::planned(WINDOWS, mode, "win1", windows_host())
}

/// The documents of a Windows host, by stage.
pub(super) fn mode_documents(mode: NetworkMode) -> Vec<NodeDocument> {
    documents_for(|cluster| cluster.spec.network = Network::of(mode))
}

/// The same for a modified cluster.
pub(super) fn documents_for(change: impl FnOnce(&mut Cluster)) -> Vec<NodeDocument> {
    documents_of(WINDOWS, "win1", change)
}

fn documents_of(spec: &str, host: &str, change: impl FnOnce(&mut Cluster)) -> Vec<NodeDocument> {
    let loaded = casement_source::load("cluster.yaml", spec);
    let mut cluster = loaded.cluster.unwrap();
    change(&mut cluster);
    let blob = |program: &Program| Blob::of(program.name().as_bytes());
    let programs = Program::ALL.iter().map(|program| (*program, blob(program)));
    let inputs = Inputs {
        programs: programs.collect(),
        ..Inputs::default()
    };
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let plans = documents(&cluster, &inputs, &facts).unwrap();
    let mut plans = plans.into_iter();
    let plan = plans.find(|plan| plan.host.name.as_str() == host);
    plan.unwrap().documents
}

/// A Windows host with the blobs of planned documents.
pub(super) fn rig() -> Rig {
    with_blobs(windows_host())
}

fn with_blobs(host: World) -> Rig {
    let rig = Rig::new(host);
    for program in Program::ALL {
        let bytes = program.name().as_bytes();
        fs::write(rig.layout.blob(&Sha256::of(bytes)), bytes).unwrap();
    }
    rig
}

/// All stages, like a controller; `false` if one was interrupted or failed.
fn apply(rig: &mut Rig, documents: &[NodeDocument]) -> bool {
    documents.iter().all(|document| {
        let order = rig.order(Task::Converge(document.clone()));
        let result = execute_across_boots(rig, &order);
        result.is_some_and(|(outcome, _)| outcome == Outcome::Done)
    })
}

/// Executes an order; resumes it after a reboot, but not after a kill.
fn execute_across_boots(rig: &Rig, order: &Order) -> Option<(Outcome, Vec<Event>)> {
    loop {
        let boot = rig.sim.world().boot;
        let result = rig.execute(order);
        if result.is_some() || rig.sim.world().boot == boot {
            return result;
        }
    }
}

pub(super) fn converge(rig: &mut Rig, document: &NodeDocument) -> (Outcome, Vec<Event>) {
    let order = rig.order(Task::Converge(document.clone()));
    execute_across_boots(rig, &order).unwrap()
}

fn apply_without_faults(rig: &mut Rig, documents: &[NodeDocument]) -> World {
    for document in documents {
        let (outcome, events) = converge(rig, document);
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    }
    rig.sim.world()
}

/// A Windows host after a removal: it was rebooted once, and its feature is disabled
/// with the next reboot.
pub(super) fn restored() -> World {
    let mut world = windows_host();
    world.reboot();
    let feature = world.features.get_mut("containers").unwrap();
    feature.state = WindowsFeatureFacts::OffAfterBoot;
    world
}

/// In lists of independent objects, one that failed at first comes last.
fn sorted(world: &World) -> World {
    let mut world = world.clone();
    world.routes.sort_by_key(|route| format!("{route:?}"));
    world.endpoints.sort_by(|one, other| one.id.cmp(&other.id));
    world
}

/// Prints only the differences: a whole host is too long to read.
fn assert_same(found: &World, wanted: &World, label: &str) {
    if found == wanted || sorted(found) == sorted(wanted) {
        return;
    }
    let (found, wanted) = (format!("{found:#?}"), format!("{wanted:#?}"));
    let only = |one: &str, other: &str| {
        let lines = one.lines().filter(|line| !other.contains(*line));
        lines.take(20).collect::<Vec<_>>().join("\n")
    };
    let (more, less) = (only(&found, &wanted), only(&wanted, &found));
    panic!("{label}\nfound:\n{more}\nwanted:\n{less}\n(or the same in another order)");
}

/// Planned documents of both systems in every mode, and the two with every kind of
/// resource, in parallel.
fn in_every_case(test: impl Fn(&Case) + Sync) {
    println!("CASEMENT_SEED={} replays this run", seed());
    let mut makers: Vec<Box<dyn FnOnce() -> Case + Send>> = Vec::new();
    for mode in NetworkMode::ALL.iter().copied() {
        makers.push(Box::new(move || {
            Case::planned(LINUX, mode, "lin1", linux_host())
        }));
        makers.push(Box::new(move || windows_case(mode)));
    }
    let all_kinds =
        |name: &str, host: World, document| Case::new(name.to_owned(), host, vec![document]);
    makers.push(Box::new(move || {
        all_kinds("all kinds on Linux", linux_host(), linux_full())
    }));
    makers.push(Box::new(move || {
        all_kinds("all kinds on Windows", windows_host(), full_with_secret())
    }));
    let makers = Mutex::new(makers);
    let next = || makers.lock().unwrap().pop();
    let count = thread::available_parallelism().map_or(2, Into::into);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while let Some(maker) = next() {
                    test(&maker());
                }
            });
        }
    });
}

#[test]
fn next_apply_recovers_from_any_failed_call() {
    in_every_case(|case| {
        let (looks, changes) = fail_everywhere(case);
        println!("{}: {looks} looks, {changes} changes", case.name);
        assert!(looks > 40 && changes > 20, "{}", case.name);
    });
}

#[test]
fn next_apply_recovers_from_any_kill() {
    in_every_case(|case| {
        let kill_points = kill_everywhere(case);
        println!("{}: {kill_points} kill points", case.name);
        assert!(kill_points > 140, "{}", case.name);
    });
}

/// The minimum number of random fault sequences in a test run.
const SEQUENCES: u64 = 1_000;

#[test]
fn apply_recovers_from_random_fault_sequences() {
    let seed = seed();
    let cases = 2 * NetworkMode::ALL.len() as u64 + 2;
    in_every_case(|case| {
        for sequence in 0..SEQUENCES.div_ceil(cases) {
            let mut random = Random(seed.wrapping_add(sequence << 32));
            let mut rig = case.rig();
            let mut labels = Vec::new();
            for _ in 0..=random.below(3) {
                let faults = random.faults();
                labels.push(format!("{faults:?}"));
                rig.sim.set_faults(faults);
                case.apply(&mut rig);
            }
            let label = labels.join(", ");
            let fault = format!("CASEMENT_SEED={seed}, sequence {sequence}: {label}");
            case.assert_recovers(&mut rig, &fault);
        }
    });
}

/// One seed for all tests of a run.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let given = std::env::var("CASEMENT_SEED").ok();
        let given = given.and_then(|text| text.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        given.unwrap_or(u64::from(now.subsec_nanos()))
    })
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % limit
    }

    /// One fault, in the range of calls that an apply of these sizes makes.
    fn faults(&mut self) -> Faults {
        let mut faults = Faults::default();
        let (fault, at) = match self.below(4) {
            0 => (&mut faults.kill_at, self.below(400)),
            1 => (&mut faults.fail_at, self.below(100)),
            2 => (&mut faults.kill_at_read, self.below(400)),
            _ => (&mut faults.fail_at_read, self.below(400)),
        };
        *fault = Some(at + 1);
        faults
    }
}
