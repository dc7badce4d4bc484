//! The documents that hosts really get, and those with something of every kind,
//! with a fault at every place: whatever fails or is killed, the next run ends
//! where an undisturbed one does, and a removal restores what was there.

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

mod removal;
#[path = "faults/snapshot.rs"]
mod still;
#[path = "faults/every_fault.rs"]
mod walk;

use still::{Known, Still};
use walk::{fail_everywhere, kill_everywhere};

/// A Windows host of a cluster that exists.
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

/// A Linux host of a cluster that casement makes.
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

/// A host, and what it is to be, stage by stage.
pub(super) struct Case {
    name: String,
    host: World,
    pub(super) documents: Vec<NodeDocument>,
    /// What it is after an apply that nothing disturbs.
    pub(super) wanted: World,
    /// What it is after a removal.
    removed: World,
    /// The states after a document, by how many there were before it, from which
    /// the rest was seen to end well.
    proven: RefCell<Known<usize>>,
}

impl Case {
    fn new(name: String, host: World, documents: Vec<NodeDocument>) -> Self {
        let mut case = Self {
            name,
            wanted: host.clone(),
            removed: host.clone(),
            proven: RefCell::default(),
            host,
            documents,
        };
        let mut rig = case.rig();
        case.wanted = undisturbed(&mut rig, &case.documents);
        assert_ne!(case.wanted, case.host, "{}", case.name);
        if case.wanted.boot != case.host.boot {
            case.removed = restored();
        }
        case
    }

    /// What a host gets in a mode.
    fn real(spec: &str, mode: NetworkMode, name: &str, host: World) -> Self {
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
    pub(super) fn disturbed(&self, faults: Faults) -> Rig {
        let mut rig = self.rig();
        rig.sim.set_faults(faults);
        self.apply(&mut rig);
        rig
    }

    /// An apply without a fault, which must end well and as wanted; then a removal.
    pub(super) fn assert_made_good(&self, rig: &mut Rig, fault: &str) {
        let name = &self.name;
        rig.sim.set_faults(Faults::default());
        for (number, document) in self.documents.iter().enumerate() {
            let (outcome, events) = converge(rig, document);
            let failed = failed(&events);
            assert_eq!(outcome, Outcome::Done, "{name}, {fault}: {failed:?}");
            let still = Still::of(&rig.sim, &rig.layout);
            if !self.proven.borrow_mut().is_new(number, &still) {
                return;
            }
        }
        assert_same(&rig.sim.world(), &self.wanted, &format!("{name}, {fault}"));
        assert_eq!(rig.remove(), Outcome::Done, "{name}, {fault}");
        let told = format!("{name}, {fault}: after the removal");
        assert_same(&rig.sim.world(), &self.removed, &told);
    }
}

/// A Windows host that gets real documents.
pub(super) fn windows_case(mode: NetworkMode) -> Case {
    Case::real(WINDOWS, mode, "win1", windows_host())
}

/// What a Windows host gets in a mode, stage by stage.
pub(super) fn real(mode: NetworkMode) -> Vec<NodeDocument> {
    real_of(|cluster| cluster.spec.network = Network::of(mode))
}

/// The same of a cluster that differs in something.
pub(super) fn real_of(change: impl FnOnce(&mut Cluster)) -> Vec<NodeDocument> {
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

/// A Windows host with the blobs that real documents need.
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

/// Stage after stage, as a controller does it; `false` if one was cut off or did
/// not end well.
fn apply(rig: &mut Rig, documents: &[NodeDocument]) -> bool {
    documents.iter().all(|document| {
        let order = rig.order(Task::Converge(document.clone()));
        let ended = over_boots(rig, &order);
        ended.is_some_and(|(outcome, _)| outcome == Outcome::Done)
    })
}

/// Carries an order out; the service goes on with it after a boot, and only
/// there.
fn over_boots(rig: &Rig, order: &Order) -> Option<(Outcome, Vec<Event>)> {
    loop {
        let boot = rig.sim.world().boot;
        let ended = rig.carry_out(order);
        if ended.is_some() || rig.sim.world().boot == boot {
            return ended;
        }
    }
}

pub(super) fn converge(rig: &mut Rig, document: &NodeDocument) -> (Outcome, Vec<Event>) {
    let order = rig.order(Task::Converge(document.clone()));
    over_boots(rig, &order).unwrap()
}

/// What a host is after an apply that nothing disturbs.
fn undisturbed(rig: &mut Rig, documents: &[NodeDocument]) -> World {
    for document in documents {
        let (outcome, events) = converge(rig, document);
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    }
    rig.sim.world()
}

/// A Windows host after a removal: it was booted once, and the feature that came
/// with that goes with the next one.
pub(super) fn restored() -> World {
    let mut world = windows_host();
    world.reboot();
    let feature = world.features.get_mut("containers").unwrap();
    feature.state = WindowsFeatureFacts::OffAfterBoot;
    world
}

/// In a list of things that are independent of one another, one that failed at
/// first comes last.
fn sorted(world: &World) -> World {
    let mut world = world.clone();
    world.routes.sort_by_key(|route| format!("{route:?}"));
    world.endpoints.sort_by(|one, other| one.id.cmp(&other.id));
    world
}

/// Tells only what differs: a whole host is too much to read.
fn assert_same(now: &World, wanted: &World, told: &str) {
    if now == wanted || sorted(now) == sorted(wanted) {
        return;
    }
    let (now, wanted) = (format!("{now:#?}"), format!("{wanted:#?}"));
    let only = |one: &str, other: &str| {
        let lines = one.lines().filter(|line| !other.contains(*line));
        lines.take(20).collect::<Vec<_>>().join("\n")
    };
    let (more, less) = (only(&now, &wanted), only(&wanted, &now));
    panic!("{told}\nfound:\n{more}\nwanted:\n{less}\n(or the same in another order)");
}

/// Real documents of both systems in every mode, and the two wide ones, on as many
/// threads as there are processors.
fn in_every_case(test: impl Fn(&Case) + Sync) {
    println!("CASEMENT_SEED={} replays this run", seed());
    let mut makers: Vec<Box<dyn FnOnce() -> Case + Send>> = Vec::new();
    for mode in NetworkMode::ALL.iter().copied() {
        makers.push(Box::new(move || {
            Case::real(LINUX, mode, "lin1", linux_host())
        }));
        makers.push(Box::new(move || windows_case(mode)));
    }
    let wide = |name: &str, host: World, document| Case::new(name.to_owned(), host, vec![document]);
    makers.push(Box::new(move || {
        wide("wide Linux", linux_host(), linux_full())
    }));
    makers.push(Box::new(move || {
        wide("wide Windows", windows_host(), full_with_secret())
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
fn whichever_call_of_an_apply_fails_the_next_makes_it_good() {
    in_every_case(|case| {
        let (looks, changes) = fail_everywhere(case);
        println!("{}: {looks} looks, {changes} changes", case.name);
        assert!(looks > 40 && changes > 20, "{}", case.name);
    });
}

#[test]
fn wherever_an_apply_is_killed_the_next_makes_it_good() {
    in_every_case(|case| {
        let moments = kill_everywhere(case);
        println!("{}: {moments} moments", case.name);
        assert!(moments > 140, "{}", case.name);
    });
}

/// How many rows of faults there are in a run of the tests, at least.
const ROWS: u64 = 1_000;

#[test]
fn rows_of_faults_are_made_good() {
    let seed = seed();
    let cases = 2 * NetworkMode::ALL.len() as u64 + 2;
    in_every_case(|case| {
        for row in 0..ROWS.div_ceil(cases) {
            let mut chance = Chance(seed.wrapping_add(row << 32));
            let mut rig = case.rig();
            let mut told = Vec::new();
            for _ in 0..=chance.below(3) {
                let faults = chance.faults();
                told.push(format!("{faults:?}"));
                rig.sim.set_faults(faults);
                case.apply(&mut rig);
            }
            let told = told.join(", ");
            let fault = format!("CASEMENT_SEED={seed}, row {row}: {told}");
            case.assert_made_good(&mut rig, &fault);
        }
    });
}

/// What chance begins with: one for all tests of a run.
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
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % limit
    }

    /// One fault, somewhere in what an apply of these sizes passes.
    fn faults(&mut self) -> Faults {
        let mut faults = Faults::default();
        let (fault, at) = match self.below(4) {
            0 => (&mut faults.kill_at, self.below(400)),
            1 => (&mut faults.fail_at, self.below(100)),
            2 => (&mut faults.kill_at_look, self.below(400)),
            _ => (&mut faults.fail_at_look, self.below(400)),
        };
        *fault = Some(at + 1);
        faults
    }
}
