//! The controller is killed at random times during an apply to five Windows hosts: the
//! next apply reaches the same end state as an uninterrupted one.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use casement_sim::SimHost;

use crate::fixture::Fixture;
use crate::random::SeededRng;

const HOSTS: usize = 5;
const KILLS: u32 = 20;
pub const SIGKILL: i32 = 9;

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

/// The hosts after an uninterrupted apply, and its duration; resets them again.
pub async fn baseline(fixture: &Fixture) -> (Vec<BTreeSet<String>>, Duration) {
    let started = Instant::now();
    fixture.succeed(&["apply", "--yes"]).await;
    let took = started.elapsed();
    let summaries = summaries(fixture);
    fixture.succeed(&RESET).await;
    (summaries, took)
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_recovers_from_a_killed_controller() {
    let mut rng = SeededRng::from_environment();
    let fixture = Fixture::start(HOSTS, true).await;
    let (baseline, took) = baseline(&fixture).await;
    let total_ms = u64::try_from(took.as_millis()).unwrap();
    let mut interrupted = 0;
    for kill in 1..=KILLS {
        let after = Duration::from_millis(rng.below(total_ms));
        let mut command = fixture.command(&["apply", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut controller = command.spawn().unwrap();
        tokio::time::sleep(after).await;
        controller.kill().unwrap();
        let ended = controller.wait().unwrap();
        interrupted += u32::from(ended.signal() == Some(SIGKILL));
        let kill = format!("kill {kill} after {after:?} of {total_ms} ms");
        println!("{kill}: {ended}");
        assert_recovers(&fixture, &baseline, &kill).await;
    }
    assert!(interrupted > 0, "every kill came after the end of the run");
    println!("{interrupted} of {KILLS} kills interrupted a run");
}
