//! The controller, killed at random moments of an apply over five Windows hosts: the
//! next one ends where an undisturbed one does.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use casement_lab::sim::{SimCluster, SimHost};

const HOSTS: usize = 5;
const KILLS: u32 = 20;

struct Ground {
    cluster: SimCluster,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = SimCluster::start(folder.path(), HOSTS, true).await.unwrap();
        Self {
            cluster,
            _folder: folder,
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        let file = self.cluster.cluster_file();
        command.current_dir(file.parent().unwrap());
        command.args(words).arg("--agent-dir").arg("agent");
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        let mut command = self.command(words);
        let run = tokio::task::spawn_blocking(move || command.output().unwrap());
        run.await.unwrap()
    }

    async fn succeed(&self, words: &[&str]) {
        let output = self.run(words).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
    }

    fn shapes(&self) -> Vec<BTreeSet<String>> {
        self.cluster.hosts().iter().map(shape).collect()
    }
}

/// Everything that is on a host, by name: addresses of pods and keys are another
/// run's own.
fn shape(host: &SimHost) -> BTreeSet<String> {
    let world = host.sim().world();
    let mut shape = BTreeSet::new();
    shape.extend(world.entries.keys().map(|path| format!("file {path}")));
    let services = world.services.iter();
    shape.extend(services.map(|(name, it)| format!("service {name} {} {}", it.start, it.state)));
    let networks = world.networks.iter();
    shape.extend(networks.map(|it| format!("network {} {}", it.name, it.network_type)));
    let endpoints = world.endpoints.iter();
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

/// A number below another one, from a row that a seed begins.
fn next(random: &mut u64, below: u128) -> u64 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    u64::try_from(u128::from(*random >> 33) % below.max(1)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_controller_is_made_good_by_the_next_one() {
    let seed = std::env::var("CASEMENT_SEED").ok();
    let mut random = seed.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos())
    });
    println!("CASEMENT_SEED={random} replays this run");
    let ground = Ground::start().await;
    let started = Instant::now();
    ground.succeed(&["apply", "--yes"]).await;
    let whole = started.elapsed().as_millis();
    let undisturbed = ground.shapes();
    ground
        .succeed(&["reset", "--all", "--cluster", "--yes"])
        .await;
    for kill in 1..=KILLS {
        let after = Duration::from_millis(next(&mut random, whole));
        let mut command = ground.command(&["apply", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut controller = command.spawn().unwrap();
        tokio::time::sleep(after).await;
        controller.kill().unwrap();
        controller.wait().unwrap();
        println!("kill {kill}: after {after:?} of {whole} ms");
        ground.succeed(&["apply", "--yes"]).await;
        ground.succeed(&["status"]).await;
        assert_eq!(ground.shapes(), undisturbed, "kill {kill}, after {after:?}");
        ground
            .succeed(&["reset", "--all", "--cluster", "--yes"])
            .await;
        for host in ground.cluster.hosts() {
            let left = host.left_behind();
            assert!(left.is_empty(), "{}: {left:?}", host.spec().name);
        }
    }
}
