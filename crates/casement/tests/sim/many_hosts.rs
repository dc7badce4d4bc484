//! Many simulated hosts at once over real SSH: a controller killed at points that a seed
//! chooses, and `CASEMENT_HOSTS` hosts in one process.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use casement_node::sim::World;
use casement_remote::{Agent, AgentHome, HostEndpoint, HostOs, Sha256, Target, load_key};
use casement_resource::NodeDocument;
use casement_run::agent_client::AgentClient;
use casement_run::blob_source::Blobs;
use casement_run::cancel::CancelToken;
use casement_run::job::Job;
use casement_run::run_host::RunHost;
use casement_run::secrets::NoSecrets;
use casement_run::unavailable::UnavailablePermit;
use casement_sim::{SimHost, SimSpec, SimSystem, make_key};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::controller::{Controller, EventBarrier};
use crate::kill_point::{KillPoint, StageEvents};
use crate::random::SeededRng;
use crate::running_command::{RunningCommand, with_timeout};

/// Hosts, their SSH key, and the input files of `converge`.
struct Fleet {
    hosts: Vec<SimHost>,
    folder: tempfile::TempDir,
}

impl Fleet {
    async fn start(second: u8, count: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let public = make_key(&folder.path().join("id")).unwrap();
        let mut fleet = Self {
            hosts: Vec::new(),
            folder,
        };
        let mut known = String::new();
        for number in 0..usize::from(count) {
            let spec = SimSpec {
                name: format!("sim{number}"),
                address: Self::address(second, number),
                port: 0,
                system: SimSystem::Linux,
            };
            let disk = fleet.at(&spec.name);
            std::fs::create_dir(&disk).unwrap();
            let host = SimHost::start(spec, &disk, public.clone()).await.unwrap();
            known.push_str(&host.known_hosts_line().unwrap());
            fleet.hosts.push(host);
        }
        std::fs::write(fleet.at("known_hosts"), known).unwrap();
        fleet
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(second: u8, number: usize) -> Ipv4Addr {
        let [high, low] = u16::try_from(number + 1).unwrap().to_be_bytes();
        Ipv4Addr::new(127, second, high, low)
    }

    fn write_hosts_file(&self, second: u8) {
        let hosts: Vec<Value> = self
            .hosts
            .iter()
            .enumerate()
            .map(|(number, host)| {
                let address = Self::address(second, number).to_string();
                let name = format!("sim{number}");
                json!({"name": name, "address": address, "port": host.port(), "values": {"name": name}})
            })
            .collect();
        let file =
            json!({"user": "root", "key": "id", "knownHosts": "known_hosts", "hosts": hosts});
        std::fs::write(self.at("hosts.json"), file.to_string()).unwrap();
    }

    fn worlds(&self) -> Vec<World> {
        self.hosts.iter().map(|host| host.sim().world()).collect()
    }
}

/// A document with a blob, folders, files, a link and a kernel value.
fn document(blob: &[u8]) -> Value {
    let mut steps = vec![
        json!({"id": "dir", "resource": {"kind": "directory", "path": "/opt/shop", "access": "inherited"}}),
        json!({"id": "tool", "after": ["dir"], "resource": {
            "kind": "artifact", "format": "plain", "destination": "/opt/shop/tool",
            "sha256": Sha256::of(blob).to_string(), "size": blob.len()}}),
        json!({"id": "link", "after": ["dir"], "resource": {
            "kind": "symlink", "path": "/opt/shop/current", "target": "tool"}}),
        json!({"id": "line", "resource": {"kind": "line", "path": "/etc/shop.conf", "rest": "of {{ name }}"}}),
    ];
    for number in 0..20 {
        steps.push(
            json!({"id": format!("file-{number}"), "after": ["dir"], "resource": {
            "kind": "file", "path": format!("/opt/shop/{number}.conf"), "access": {"mode": "0640"},
            "content": {"text": format!("{{{{ name }}}} {number}\n")}}}),
        );
    }
    json!({"host": "each", "stage": "prepare", "repair": "report", "steps": steps})
}

/// Bytes that do not repeat.
fn blob() -> Vec<u8> {
    let numbers = 0_u32..500_000;
    numbers
        .flat_map(|it| it.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

fn controller(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
    command
        .current_dir(folder)
        .args(["converge", "document.json", "--hosts", "hosts.json"])
        .args(["--agent-dir", ".", "--blob", "blob"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn write_files(fleet: &Fleet, second: u8) {
    fleet.write_hosts_file(second);
    std::fs::write(fleet.at("document.json"), document(&blob()).to_string()).unwrap();
    std::fs::write(fleet.at("blob"), blob()).unwrap();
    // Never uploaded: simulated hosts have their own.
    std::fs::write(fleet.at("casement-node"), "agent").unwrap();
}

/// Runs the controller to its end on a blocking thread, so that the hosts keep running.
async fn complete(folder: PathBuf) {
    tokio::task::spawn_blocking(move || {
        let output = controller(&folder).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{printed}");
    })
    .await
    .unwrap()
}

const HOSTS: u16 = 5;
const KILLS: u64 = 20;
/// All events until the last step has begun.
const EVENTS: StageEvents = StageEvents {
    stage: "prepare",
    last: 48,
    except: &[],
};

/// Where each host is at each kill.
fn schedule(rng: &mut SeededRng) -> Vec<Vec<KillPoint>> {
    let kills = (0..KILLS).map(|_| {
        let hosts = (0..HOSTS).map(|number| format!("sim{number}"));
        let points = hosts.map(|host| KillPoint::choose(rng, &host, &[EVENTS]));
        points.collect()
    });
    kills.collect()
}

#[test]
fn one_seed_gives_one_schedule() {
    let of_seed = |seed| schedule(&mut SeededRng::new(seed));
    for _ in 0..50 {
        assert_eq!(of_seed(7), of_seed(7));
    }
    assert_ne!(of_seed(7), of_seed(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn second_run_completes_after_a_killed_controller() {
    let schedule = schedule(&mut SeededRng::from_environment());
    let baseline = Fleet::start(40, HOSTS).await;
    let bare = baseline.worlds();
    write_files(&baseline, 40);
    complete(baseline.folder.path().to_owned()).await;
    let expected = baseline.worlds();
    assert!(expected != bare, "the run changed something");
    drop(baseline);
    for (number, points) in schedule.iter().enumerate() {
        println!("kill {number}: {points:?}");
        let fleet = Fleet::start(40, HOSTS).await;
        write_files(&fleet, 40);
        let folder = fleet.folder.path().to_owned();
        let pairs = points.iter().zip(&fleet.hosts);
        let barriers: Vec<EventBarrier> = pairs
            .map(|(point, host)| EventBarrier::after(point, host))
            .collect();
        let mut controller = Controller::start(controller(&folder), folder.clone());
        let reached = async {
            let blocked = || barriers.iter().all(EventBarrier::is_blocking);
            while !(blocked() && controller.has_reached(points)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        with_timeout(&format!("{points:?}"), reached).await;
        controller.kill();
        assert!(controller.has_reached(points), "{points:?}");
        assert!(fleet.worlds() != expected, "the run was not over");
        drop(barriers);
        complete(folder).await;
        assert!(fleet.worlds() == expected, "kill {number}: {points:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn run_interrupted_at_a_silent_host_can_be_resumed() {
    let fleet = Fleet::start(41, 2).await;
    write_files(&fleet, 41);
    let original = std::fs::read_to_string(fleet.at("hosts.json")).unwrap();
    // It accepts connections and sends nothing.
    let silent = TcpListener::bind((Fleet::address(41, 1), 0)).await.unwrap();
    let other = silent.local_addr().unwrap().port().to_string();
    let changed = original.replace(&fleet.hosts[1].port().to_string(), &other);
    std::fs::write(fleet.at("hosts.json"), changed).unwrap();
    let mut running = RunningCommand::start(controller(fleet.folder.path()));
    let (_connection, _) = with_timeout("a connection", silent.accept()).await.unwrap();
    running.interrupt();
    running.wait_for("Run `casement converge` to resume.").await;
    let (code, printed) = running.wait().await;
    assert_eq!(code, Some(130), "{printed}");
    assert!(printed.contains("Stopped after"), "{printed}");
    std::fs::write(fleet.at("hosts.json"), original).unwrap();
    let before = fleet.worlds();
    complete(fleet.folder.path().to_owned()).await;
    assert!(fleet.worlds() != before, "one host was still missing");
}

/// `CASEMENT_HOSTS`, or 200.
fn host_count() -> u16 {
    let variable = std::env::var("CASEMENT_HOSTS").ok();
    variable.map_or(200, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_converges_many_hosts() {
    let fleet = Fleet::start(50, host_count()).await;
    let before = peak_memory_mb();
    let text = document(b"").to_string();
    let key = std::sync::Arc::new(load_key(&fleet.at("id")).unwrap());
    let agent = Agent {
        path: "/nonexistent".into(),
        hash: Sha256::of(b"agent"),
        size: 5,
        os: HostOs::Linux,
    };
    for expected in [true, false] {
        let started = Instant::now();
        let jobs = fleet.hosts.iter().enumerate().map(|(number, host)| {
            let (agent, text, fleet) = (agent.clone(), &text, &fleet);
            let name = format!("sim{number}");
            let address = Fleet::address(50, number).to_string();
            let known_hosts = fleet.at("known_hosts");
            let mut target = Target::new(&name, address, "root", key.clone(), known_hosts);
            target.port = host.port();
            target.connect_timeout = Duration::from_secs(60);
            async move {
                let text = text.replace("{{ name }}", &name);
                let document: NodeDocument = serde_json::from_str(&text).unwrap();
                let artifact = ["tool".parse().unwrap()];
                let document = document.without(&artifact);
                let endpoint = HostEndpoint::Ssh(target);
                let home = AgentHome::new(agent);
                let mut client = AgentClient::open_at(&endpoint, home, "test").await.unwrap();
                let job = Job {
                    blobs: &Blobs::new(),
                    run: &format!("r-{expected}"),
                    cancel: &CancelToken::default(),
                    on_event: &|_| {},
                };
                let permit = &mut UnavailablePermit::default();
                let mut host = RunHost::new(&mut client, Vec::new());
                let done = job.converge(&mut host, &document, &NoSecrets, permit).await;
                let changed = done.unwrap();
                client.close().await;
                changed
            }
        });
        let changed: Vec<u32> = futures_util::stream::iter(jobs)
            .buffer_unordered(32)
            .collect()
            .await;
        assert_eq!(changed.len(), fleet.hosts.len());
        assert!(changed.iter().all(|it| (*it > 0) == expected));
        let seconds = started.elapsed().as_secs_f64();
        let peak = peak_memory_mb();
        let count = changed.len();
        println!("{count} hosts: {seconds:.1} s, {before} MB before, {peak} MB at most");
    }
}

fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() / 1024
}
