//! The documents that hosts really get, with a fault at every place: whatever
//! fails or is killed, the next run ends where an undisturbed one does, and a
//! removal restores what was there.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use casement_plan::offline::documents;
use casement_plan::{Blob, ClusterFacts, Inputs};
use casement_resource::wire::{Event, Outcome};
use casement_resource::{NodeDocument, Sha256, WindowsFeatureFacts};
use casement_spec::{Cluster, Named, Network, NetworkMode, Program};

use super::{Faults, Order, Rig, Task, failed, windows_host};
use crate::sim::World;

const SPEC: &str = "
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

/// What a Windows host gets in a mode, stage by stage.
pub(super) fn real(mode: NetworkMode) -> Vec<NodeDocument> {
    real_of(|cluster| cluster.spec.network = Network::of(mode))
}

/// The same of a cluster that differs in something.
pub(super) fn real_of(change: impl FnOnce(&mut Cluster)) -> Vec<NodeDocument> {
    let loaded = casement_source::load("cluster.yaml", SPEC);
    let mut cluster = loaded.cluster.unwrap();
    change(&mut cluster);
    let blob = |program: &Program| Blob {
        sha256: Sha256::of(program.name().as_bytes()),
        size: program.name().len() as u64,
    };
    let programs = Program::ALL.iter().map(|program| (*program, blob(program)));
    let inputs = Inputs {
        programs: programs.collect(),
        ..Inputs::default()
    };
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let plans = documents(&cluster, &inputs, &facts).unwrap();
    let mut plans = plans.into_iter();
    let plan = plans.find(|plan| plan.host.name.as_str() == "win1");
    plan.unwrap().documents
}

/// A host with the blobs that these documents need.
pub(super) fn rig() -> Rig {
    let rig = Rig::new(windows_host());
    for program in Program::ALL {
        let bytes = program.name().as_bytes();
        fs::write(rig.layout.blob(&Sha256::of(bytes)), bytes).unwrap();
    }
    rig
}

/// Stage after stage, as a controller does it; `false` if one was cut off or did
/// not end well.
pub(super) fn apply(rig: &mut Rig, documents: &[NodeDocument]) -> bool {
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

/// The host after a removal: it was booted once, and the feature that came
/// with that goes with the next one.
pub(super) fn restored() -> World {
    let mut world = windows_host();
    world.reboot();
    let feature = world.features.get_mut("containers").unwrap();
    feature.state = WindowsFeatureFacts::OffAfterBoot;
    world
}

/// An apply without a fault, which must end well and as wanted; then a removal.
pub(super) fn assert_made_good(
    rig: &mut Rig,
    documents: &[NodeDocument],
    wanted: &World,
    fault: &str,
) {
    rig.sim.set_faults(Faults::default());
    for document in documents {
        let (outcome, events) = converge(rig, document);
        assert_eq!(outcome, Outcome::Done, "{fault}: {:?}", failed(&events));
    }
    assert_eq!(rig.sim.world(), *wanted, "{fault}");
    assert_eq!(rig.remove(), Outcome::Done, "{fault}");
    assert_eq!(rig.sim.world(), restored(), "{fault}: after the removal");
}

pub(super) fn undisturbed(documents: &[NodeDocument]) -> World {
    let mut rig = rig();
    for document in documents {
        let (outcome, events) = converge(&mut rig, document);
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    }
    rig.sim.world()
}

/// The same for every mode, each in a thread of its own.
fn in_every_mode(test: impl Fn(&str, &[NodeDocument], &World) + Sync) {
    let test = &test;
    thread::scope(|scope| {
        for mode in NetworkMode::ALL {
            scope.spawn(move || {
                let documents = real(*mode);
                let wanted = undisturbed(&documents);
                test(mode.name(), &documents, &wanted);
            });
        }
    });
}

#[test]
fn a_change_that_fails_is_made_good_whichever_it_is() {
    in_every_mode(|mode, documents, wanted| {
        for number in 1.. {
            let mut rig = rig();
            rig.sim.set_faults(Faults {
                fail_at: Some(number),
                ..Faults::default()
            });
            apply(&mut rig, documents);
            if rig.sim.changes() < number {
                assert!(number > 40, "{mode} has only {number} changes");
                return;
            }
            let fault = format!("{mode}, change {number} fails");
            assert_made_good(&mut rig, documents, wanted, &fault);
        }
    });
}

#[test]
fn a_kill_is_made_good_wherever_it_is() {
    in_every_mode(|mode, documents, wanted| {
        for point in 1.. {
            let mut rig = rig();
            rig.sim.set_faults(Faults {
                kill_at: Some(point),
                ..Faults::default()
            });
            apply(&mut rig, documents);
            if rig.sim.points() < point {
                assert!(point > 100, "{mode} has only {point} points");
                return;
            }
            let fault = format!("{mode}, killed at point {point}");
            assert_made_good(&mut rig, documents, wanted, &fault);
        }
    });
}

/// How many rows of faults there are in a run of the tests.
const ROWS: u64 = 1_000;

#[test]
fn rows_of_faults_are_made_good() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let given = std::env::var("CASEMENT_SEED").ok();
    let given = given.and_then(|text| text.parse::<u64>().ok());
    let seed = given.unwrap_or(u64::from(now.subsec_nanos()));
    println!("CASEMENT_SEED={seed} replays this run");
    let modes = NetworkMode::ALL.len() as u64;
    in_every_mode(|mode, documents, wanted| {
        for row in 0..ROWS.div_ceil(modes) {
            let mut chance = Chance(seed.wrapping_add(row << 32));
            let mut rig = rig();
            let mut told = Vec::new();
            for _ in 0..=chance.below(3) {
                let at = Some(chance.below(400) + 1);
                let faults = match chance.below(2) {
                    0 => Faults {
                        kill_at: at,
                        ..Faults::default()
                    },
                    _ => Faults {
                        fail_at: at.map(|at| at / 4 + 1),
                        ..Faults::default()
                    },
                };
                told.push(format!("{faults:?}"));
                rig.sim.set_faults(faults);
                apply(&mut rig, documents);
            }
            let fault = format!(
                "CASEMENT_SEED={seed}, {mode}, row {row}: {}",
                told.join(", ")
            );
            assert_made_good(&mut rig, documents, wanted, &fault);
        }
    });
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
}
