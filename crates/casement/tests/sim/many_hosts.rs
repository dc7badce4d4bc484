//! Many simulated hosts at once over real SSH: a controller that is killed at any
//! moment, and very many hosts in one process.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use casement_node::sim::World;
use casement_remote::{Agent, AgentHome, HostOs, Sha256, Target, Way, load_key};
use casement_resource::NodeDocument;
use casement_run::job::Job;
use casement_run::link::Link;
use casement_run::secrets::NoSecrets;
use casement_run::source::Blobs;
use casement_run::stop::Stop;
use casement_run::unavailable::Away;
use casement_sim::{SimHost, SimSpec, SimSystem, make_key};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::at_work::{AtWork, within};

/// Hosts, the key that opens them, and the files that the verb takes.
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
    // Simulated hosts answer for it: it is never brought.
    std::fs::write(fleet.at("casement-node"), "agent").unwrap();
}

/// Runs the controller to its end; the hosts' worlds must not wait for it here.
async fn complete(folder: PathBuf) -> Duration {
    tokio::task::spawn_blocking(move || {
        let started = Instant::now();
        let output = controller(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        started.elapsed()
    })
    .await
    .unwrap()
}

const KILLS: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_killed_at_any_moment_is_simply_run_again() {
    let undisturbed = Fleet::start(40, 5).await;
    let bare = undisturbed.worlds();
    write_files(&undisturbed, 40);
    let took = complete(undisturbed.folder.path().to_owned()).await;
    let wanted = undisturbed.worlds();
    assert!(wanted != bare, "it did something");
    drop(undisturbed);
    let mut state = std::process::id().into();
    println!("seed {state}; a run takes {} ms", took.as_millis());
    let mut unfinished = 0;
    for kill in 0..KILLS {
        let fleet = Fleet::start(40, 5).await;
        write_files(&fleet, 40);
        let folder = fleet.folder.path().to_owned();
        let mut process = controller(&folder).spawn().unwrap();
        let moment = took.mul_f64(chance(&mut state));
        tokio::time::sleep(moment).await;
        process.kill().unwrap();
        process.wait().unwrap();
        unfinished += u32::from(fleet.worlds() != wanted);
        complete(folder).await;
        assert!(fleet.worlds() == wanted, "kill {kill} after {moment:?}");
    }
    assert!(unfinished > 0, "no kill came before the end");
    println!("{unfinished} of {KILLS} kills came before the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_while_a_host_does_not_answer_is_no_reason_to_begin_anew() {
    let fleet = Fleet::start(41, 2).await;
    write_files(&fleet, 41);
    let right = std::fs::read_to_string(fleet.at("hosts.json")).unwrap();
    // One that takes connections and never says a word.
    let silent = TcpListener::bind((Fleet::address(41, 1), 0)).await.unwrap();
    let other = silent.local_addr().unwrap().port().to_string();
    let wrong = right.replace(&fleet.hosts[1].port().to_string(), &other);
    std::fs::write(fleet.at("hosts.json"), wrong).unwrap();
    let mut at_work = AtWork::begin(controller(fleet.folder.path()));
    let (_connection, _) = within("a connection", silent.accept()).await.unwrap();
    at_work.interrupt();
    at_work.says("`casement converge` goes on from here.").await;
    let (code, said) = at_work.ends().await;
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("Stopped after"), "{said}");
    std::fs::write(fleet.at("hosts.json"), right).unwrap();
    let before = fleet.worlds();
    complete(fleet.folder.path().to_owned()).await;
    assert!(fleet.worlds() != before, "one of them was not done");
}

/// A number from 0 to 1 (xorshift).
fn chance(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// How many; `CASEMENT_HOSTS` says otherwise.
fn many() -> u16 {
    let given = std::env::var("CASEMENT_HOSTS").ok();
    given.map_or(1000, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_hosts_are_converged_in_one_process() {
    let fleet = Fleet::start(50, many()).await;
    let before = memory();
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
                let way = Way::Ssh(target);
                let home = AgentHome::new(agent);
                let mut link = Link::open_at(&way, home, "test").await.unwrap();
                let job = Job {
                    blobs: &Blobs::new(),
                    run: &format!("r-{expected}"),
                    stop: &Stop::default(),
                    tell: &|_| {},
                };
                let away = &mut Away::default();
                let done = job.converge(&mut link, &document, &NoSecrets, away).await;
                let changed = done.unwrap();
                link.close().await;
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
        let peak = memory();
        let count = changed.len();
        println!("{count} hosts: {seconds:.1} s, {before} MB before, {peak} MB at most");
    }
}

/// The most memory that this process has had, in megabytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() / 1024
}
