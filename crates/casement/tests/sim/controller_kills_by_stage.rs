//! The controller is killed in each stage of an apply: the next apply reaches the same
//! end state as an uninterrupted one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use casement_node::sim::World;
use casement_node::state::journal;
use casement_sim::{Console, SimCluster, SimHost};

use crate::controller::Controller;
use crate::controller_kills::{assert_recovers, baseline};
use crate::fixture::Fixture;
use crate::kill_point;

const HOST: &str = "windows1";
/// The kubelet's client certificate; without it, the kubelet reports no status.
const CERTIFICATE: &str = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Observing,
    BlobProgress,
    Preparing,
    Joining,
    Networking,
    WaitingForReady,
}

use Stage::*;

impl Stage {
    const ALL: [Self; 7] = [
        Connecting,
        Observing,
        BlobProgress,
        Preparing,
        Joining,
        Networking,
        WaitingForReady,
    ];

    /// Whether the host has reached this stage.
    fn has_begun(self, host: &Console) -> bool {
        match self {
            Connecting => host.lines() > 0,
            // Two hellos and a request.
            Observing => host.lines() > 2,
            BlobProgress | Preparing => has_run(host, "prepare"),
            Joining => has_run(host, "join"),
            Networking | WaitingForReady => has_run(host, "network"),
        }
    }

    /// Further observations and changes before the host is blocked, to land in the
    /// middle of a run.
    fn delay(self) -> u32 {
        match self {
            Preparing => 60,
            Joining | Networking | WaitingForReady => 10,
            _ => 0,
        }
    }

    /// The parts of the run that the record must show by then.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Connecting | Observing | BlobProgress => &[],
            Preparing => &["prepare"],
            Joining => &["prepare", "join"],
            Networking | WaitingForReady => &["prepare", "join", "network"],
        }
    }

    /// Output that must have been printed by then.
    fn expected_output(self) -> &'static str {
        match self {
            BlobProgress => "windows1: uploading files",
            WaitingForReady => "windows1: Node is NotReady",
            _ => "",
        }
    }
}

fn has_run(host: &Console, stage: &str) -> bool {
    let runs = journal::runs(host.layout()).unwrap_or_default();
    runs.iter().any(|run| run.as_str().ends_with(stage))
}

/// Blocks a host as soon as a stage has begun, until it is released.
struct BlockedHost<'a> {
    host: &'a SimHost,
    blocked: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
}

impl<'a> BlockedHost<'a> {
    fn at(stage: Stage, host: &'a SimHost) -> Self {
        // Restarts the count of lines.
        host.cut_at(&[]);
        let (blocked, released) = (Arc::new(AtomicBool::default()), Arc::default());
        let blocked_host = Self {
            host,
            blocked: Arc::clone(&blocked),
            released: Arc::clone(&released),
        };
        let (console, passed) = (host.console(), AtomicU32::default());
        host.sim().on_kill_point(move |_| {
            if released.load(Ordering::SeqCst) || !stage.has_begun(&console) {
                return;
            }
            if passed.fetch_add(1, Ordering::SeqCst) < stage.delay() {
                return;
            }
            blocked.store(true, Ordering::SeqCst);
            while !released.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        blocked_host
    }

    fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::SeqCst)
    }

    fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
        self.host.sim().on_kill_point(|_| {});
    }
}

impl Drop for BlockedHost<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// The parts of the run in which a step of the host has begun, by the run record.
fn parts(controller: &Controller) -> Vec<String> {
    let mut parts = Vec::new();
    let record = controller.record();
    for line in record.map_or_else(Vec::new, |record| kill_point::recorded(&record)) {
        let begins = line["event"]["what"]["stepBegan"].is_object();
        let part = line["stage"].as_str().unwrap_or_default().to_owned();
        if line["host"] == HOST && begins && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

/// Kills the controller, whose record and output must show the stage.
fn kill(controller: &mut Controller, stage: Stage) {
    controller.kill();
    let printed = controller.stderr();
    assert_eq!(parts(controller), stage.parts(), "{stage:?}: {printed}");
    assert!(
        printed.contains(stage.expected_output()),
        "{stage:?}: {printed}"
    );
}

/// Pads a program so that its upload takes a while; fake programs may end with empty
/// lines.
fn pad_program(fixture: &Fixture, bytes: usize) {
    let program = fixture.folder().join("programs/containerd.exe");
    let text = fs::read_to_string(&program).unwrap();
    let lines = "\n".repeat(bytes);
    fs::write(program, format!("{}\n{lines}", text.trim_end())).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_recovers_from_a_controller_killed_in_any_stage() {
    let fixture = Fixture::start(1, true).await;
    let expected = baseline(&fixture).await;
    for stage in Stage::ALL {
        pad_program(&fixture, if stage == BlobProgress { 64 << 20 } else { 0 });
        kill_in(stage, &fixture).await;
        println!("killed: {stage:?}");
        assert_recovers(&fixture, &expected, &format!("{stage:?}")).await;
    }
}

async fn kill_in(stage: Stage, fixture: &Fixture) {
    let host = fixture.cluster.host(HOST).unwrap();
    let blocked_host = BlockedHost::at(stage, host);
    let command = fixture.command(&["apply", "--yes", "-v"]);
    let mut controller = Controller::start(command, fixture.folder());
    let what = format!("{stage:?}");
    if stage != BlobProgress {
        let begun =
            |_: &SimCluster| blocked_host.is_blocked() && parts(&controller) == stage.parts();
        fixture.wait_until(&what, begun).await;
    }
    let certificate = CERTIFICATE.parse().unwrap();
    let mut removed = None;
    if stage == WaitingForReady {
        let remove = |world: &mut World| removed = world.entries.remove(&certificate);
        host.sim().modify_world(remove);
        assert!(removed.is_some(), "the host has joined");
        blocked_host.release();
    }
    let has_printed = |_: &SimCluster| controller.stderr().contains(stage.expected_output());
    fixture.wait_until(&what, has_printed).await;
    kill(&mut controller, stage);
    let restore = |world: &mut World| world.entries.extend(removed.map(|it| (certificate, it)));
    host.sim().modify_world(restore);
}
