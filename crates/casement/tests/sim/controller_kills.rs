//! The controller, killed at random moments of an apply over five Windows hosts: the
//! next one ends where an undisturbed one does.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use casement_sim::SimHost;

use crate::chance::Chance;
use crate::ground::Ground;

const HOSTS: usize = 5;
const KILLS: u32 = 20;
/// What a killed process ends with.
pub const SIGKILL: i32 = 9;

fn shapes(ground: &Ground) -> Vec<BTreeSet<String>> {
    ground.cluster.hosts().iter().map(shape).collect()
}

/// Everything that is on a host, by name: addresses of pods and keys are another
/// run's own.
fn shape(host: &SimHost) -> BTreeSet<String> {
    let world = host.sim().world();
    let mut shape = BTreeSet::new();
    // Programs write logs when they come to it.
    let files = world.entries.keys().map(ToString::to_string);
    let files = files.filter(|path| !path.ends_with(".log"));
    shape.extend(files.map(|path| format!("file {path}")));
    let services = world.services.iter();
    shape.extend(services.map(|(name, it)| format!("service {name} {} {}", it.start, it.state)));
    let networks = world.networks.iter();
    shape.extend(networks.map(|it| format!("network {} {}", it.name, it.network_type)));
    // kube-proxy's own come and go with the cluster's pods.
    let endpoints = world.endpoints.iter();
    let endpoints = endpoints.filter(|it| it.name != "Ethernet");
    shape.extend(endpoints.map(|it| format!("endpoint {} {:?}", it.name, it.attached)));
    shape.insert(format!("routes {}", world.routes.len()));
    shape.insert(format!("forwarding {}", world.forwarding.len()));
    shape.insert(format!("path {:?}", world.search_path));
    shape.insert(format!("variables {:?}", world.variables));
    shape.insert(format!("registry {:?}", world.values));
    shape.insert(format!("firewall {:?}", world.firewall));
    shape.insert(format!("ports {:?}", world.dynamic_ports));
    shape
}

const RESET: [&str; 4] = ["reset", "--all", "--cluster", "--yes"];

/// What hosts look like after an apply that nobody kills, and how long that takes; they
/// are taken back then.
pub async fn undisturbed(ground: &Ground) -> (Vec<BTreeSet<String>>, Duration) {
    let started = Instant::now();
    ground.succeed(&["apply", "--yes"]).await;
    let took = started.elapsed();
    let shapes = shapes(ground);
    ground.succeed(&RESET).await;
    (shapes, took)
}

/// Applies again after a kill, compares, and takes everything back.
pub async fn made_good(ground: &Ground, undisturbed: &[BTreeSet<String>], kill: &str) {
    ground.succeed(&["apply", "--yes"]).await;
    ground.succeed(&["status"]).await;
    for (now, then) in shapes(ground).iter().zip(undisturbed) {
        let differs: Vec<_> = now.symmetric_difference(then).collect();
        assert!(differs.is_empty(), "{kill}: {differs:?}");
    }
    ground.succeed(&RESET).await;
    for host in ground.cluster.hosts() {
        let left = host.left_behind();
        assert!(left.is_empty(), "{kill}, {}: {left:?}", host.spec().name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_controller_is_made_good_by_the_next_one() {
    let mut chance = Chance::from_environment();
    let ground = Ground::start(HOSTS, true).await;
    let (undisturbed, took) = undisturbed(&ground).await;
    let whole = u64::try_from(took.as_millis()).unwrap();
    let mut landed = 0;
    for kill in 1..=KILLS {
        let after = Duration::from_millis(chance.below(whole));
        let mut command = ground.command(&["apply", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut controller = command.spawn().unwrap();
        tokio::time::sleep(after).await;
        controller.kill().unwrap();
        let ended = controller.wait().unwrap();
        landed += u32::from(ended.signal() == Some(SIGKILL));
        let kill = format!("kill {kill} after {after:?} of {whole} ms");
        println!("{kill}: {ended}");
        made_good(&ground, &undisturbed, &kill).await;
    }
    assert!(landed > 0, "no kill came before the end");
    println!("{landed} of {KILLS} kills came before the end");
}
