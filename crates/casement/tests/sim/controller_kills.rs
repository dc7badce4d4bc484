//! The controller is killed during an apply to five Windows hosts, each of which is at a
//! point that the seed has chosen: the next apply reaches the same end state as an
//! uninterrupted one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use casement_sim::SimHost;

use crate::controller::{Controller, EventBarrier, journal_lines};
use crate::fixture::Fixture;
use crate::kill_point::{self, KillPoint, StageEvents};
use crate::random::SeededRng;

const HOSTS: usize = 5;
const KILLS: u32 = 20;
/// All events of a Windows host but those at the end of a stage, where it reads and changes
/// nothing before the next event.
const PREPARE: StageEvents = StageEvents {
    stage: "prepare",
    last: 71,
    // After a reset, the next event follows at once.
    except: &[69, 71],
};
const JOIN: StageEvents = StageEvents {
    stage: "join",
    last: 3,
    // A request for a token, which the controller answers at once.
    except: &[2],
};
const NETWORK: StageEvents = StageEvents {
    stage: "network",
    // With a route to each of the other hosts.
    last: 30,
    except: &[],
};
const STAGES: [StageEvents; 3] = [PREPARE, JOIN, NETWORK];

/// Where each Windows host is at each kill. All hosts join before one gets its network.
fn schedule(rng: &mut SeededRng) -> Vec<Vec<KillPoint>> {
    let kills = (0..KILLS).map(|_| {
        let stages: &[StageEvents] = match rng.below(3) {
            0 => &[NETWORK],
            _ => &[PREPARE, JOIN],
        };
        let hosts = (1..=HOSTS).map(|number| format!("windows{number}"));
        let points = hosts.map(|host| KillPoint::choose(rng, &host, stages));
        points.collect()
    });
    kills.collect()
}

fn shown(points: &[KillPoint]) -> String {
    let points: Vec<String> = points.iter().map(ToString::to_string).collect();
    points.join(", ")
}

fn summaries(fixture: &Fixture) -> Vec<BTreeSet<String>> {
    fixture.cluster.hosts().iter().map(summary).collect()
}

/// The state of a host by name, without what differs between any two runs (addresses of
/// pods, keys).
fn summary(host: &SimHost) -> BTreeSet<String> {
    let world = host.sim().world();
    let mut summary = BTreeSet::new();
    // Logs are written at any time.
    let files = world.entries.keys().map(ToString::to_string);
    let files = files.filter(|path| !path.ends_with(".log"));
    summary.extend(files.map(|path| format!("file {path}")));
    let services = world.services.iter();
    summary.extend(services.map(|(name, it)| format!("service {name} {} {}", it.start, it.state)));
    let networks = world.networks.iter();
    summary.extend(networks.map(|it| format!("network {} {}", it.name, it.network_type)));
    // kube-proxy's endpoints come and go with the pods of the cluster.
    let endpoints = world.endpoints.iter();
    let endpoints = endpoints.filter(|it| it.name != "Ethernet");
    summary.extend(endpoints.map(|it| format!("endpoint {} {:?}", it.name, it.attached)));
    summary.insert(format!("routes {}", world.routes.len()));
    summary.insert(format!("forwarding {}", world.forwarding.len()));
    summary.insert(format!("path {:?}", world.search_path));
    summary.insert(format!("variables {:?}", world.variables));
    summary.insert(format!("registry {:?}", world.values));
    summary.insert(format!("firewall {:?}", world.firewall));
    summary.insert(format!("ports {:?}", world.dynamic_ports));
    summary
}

const RESET: [&str; 4] = ["reset", "--all", "--cluster", "--yes"];

/// The hosts after an uninterrupted apply; resets them again.
pub async fn baseline(fixture: &Fixture) -> Vec<BTreeSet<String>> {
    fixture.succeed(&["apply", "--yes"]).await;
    let summaries = summaries(fixture);
    fixture.succeed(&RESET).await;
    summaries
}

/// Applies again after a kill, compares with the baseline, and resets.
pub async fn assert_recovers(fixture: &Fixture, baseline: &[BTreeSet<String>], kill: &str) {
    fixture.succeed(&["apply", "--yes"]).await;
    fixture.succeed(&["status"]).await;
    for (now, then) in summaries(fixture).iter().zip(baseline) {
        let differs: Vec<_> = now.symmetric_difference(then).collect();
        assert!(differs.is_empty(), "{kill}: {differs:?}");
    }
    fixture.succeed(&RESET).await;
    for host in fixture.cluster.hosts() {
        let leftovers = host.left_behind();
        assert!(
            leftovers.is_empty(),
            "{kill}, {}: {leftovers:?}",
            host.spec().name
        );
    }
}

#[test]
fn one_seed_gives_one_schedule() {
    let of_seed = |seed| schedule(&mut SeededRng::new(seed));
    let first = of_seed(7);
    for _ in 0..50 {
        assert_eq!(of_seed(7), first);
    }
    assert_ne!(of_seed(8), first);
    let points: Vec<&KillPoint> = first.iter().flatten().collect();
    for stage in STAGES {
        let mut points = points.iter();
        assert!(points.any(|it| it.stage == stage.stage), "{stage:?}");
    }
}

/// A schedule is made of constants, so they must fit the documents of a Windows host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_can_be_stopped_at_each_point() {
    let fixture = Fixture::start(HOSTS, true).await;
    let host = fixture.cluster.host("windows1").unwrap();
    let stops = Arc::<Mutex<BTreeSet<(&str, u64)>>>::default();
    let (console, seen) = (host.console(), Arc::clone(&stops));
    host.sim().on_kill_point(move |sim| {
        if !sim.is_in_session() {
            let stages = STAGES.map(|it| (it.stage, journal_lines(&console, it.stage)));
            seen.lock().unwrap().extend(stages);
        }
    });
    // After a reset too: a host that has been a node may have fewer events.
    for round in ["first apply", "apply after a reset"] {
        stops.lock().unwrap().clear();
        fixture.succeed(&["apply", "--yes"]).await;
        assert_has_points(&stops.lock().unwrap(), round);
        fixture.succeed(&RESET).await;
    }
}

fn assert_has_points(stops: &BTreeSet<(&str, u64)>, round: &str) {
    for stage in STAGES {
        let missing: Vec<u64> = stage
            .events()
            .filter(|event| !stops.contains(&(stage.stage, *event)))
            .collect();
        assert_eq!(missing, [] as [u64; 0], "{round}: {stage:?}");
        let later = stops.iter().filter(|(name, _)| *name == stage.stage);
        let later = later.filter(|(_, event)| *event > stage.last).count();
        assert!(later <= 2, "{round}: {stage:?} leaves out {later} events");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_recovers_from_a_killed_controller() {
    let schedule = schedule(&mut SeededRng::from_environment());
    for (number, points) in schedule.iter().enumerate() {
        println!("kill {number}: {}", shown(points));
    }
    let fixture = Fixture::start(HOSTS, true).await;
    let baseline = baseline(&fixture).await;
    for points in &schedule {
        kill_at(points, &fixture).await;
        assert_recovers(&fixture, &baseline, &shown(points)).await;
    }
}

/// Kills the controller when its record has every point and nothing after it.
async fn kill_at(points: &[KillPoint], fixture: &Fixture) {
    let host = |point: &KillPoint| fixture.cluster.host(&point.host).unwrap();
    let barriers = points.iter().map(|it| EventBarrier::after(it, host(it)));
    let barriers: Vec<EventBarrier> = barriers.collect();
    let command = fixture.command(&["apply", "--yes", "-v"]);
    let mut controller = Controller::start(command, fixture.folder());
    let what = shown(points);
    fixture
        .wait_until(&what, |_| {
            barriers.iter().all(EventBarrier::is_blocking) && controller.has_reached(points)
        })
        .await;
    controller.kill();
    let record = controller.record().unwrap();
    for point in points {
        let last = kill_point::recorded_events(&record, &point.host, point.stage);
        assert_eq!(last, point.event, "{point}");
    }
}
