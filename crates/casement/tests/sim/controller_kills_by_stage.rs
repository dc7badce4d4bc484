//! The controller, killed in each stage of an apply: the next one ends where an
//! undisturbed one does.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use casement_node::sim::World;
use casement_node::state::journal;
use casement_sim::{Console, SimCluster, SimHost};
use serde_json::Value;

use crate::ground::Ground;
use crate::kills::{SIGKILL, made_good, undisturbed};

/// The host that is watched.
const HOST: &str = "windows1";
/// What a Windows node's kubelet is known by; without it, it tells nothing.
const CERTIFICATE: &str = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem";

/// What a controller is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Observing,
    Bringing,
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
        Bringing,
        Preparing,
        Joining,
        Networking,
        WaitingForReady,
    ];

    /// Whether the host stands still from here on.
    fn holds(self, host: &Console) -> bool {
        match self {
            Connecting => host.lines() > 0,
            // Two hellos, and a question.
            Observing => host.lines() > 2,
            Bringing | Preparing => has_run(host, "prepare"),
            Joining => has_run(host, "join"),
            Networking | WaitingForReady => has_run(host, "network"),
        }
    }

    /// So many looks and changes later: in the middle of a run.
    fn later(self) -> u32 {
        match self {
            Preparing => 60,
            Joining | Networking | WaitingForReady => 10,
            _ => 0,
        }
    }

    /// What the record may tell of the host by then, and what it must.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Connecting | Observing | Bringing => &[],
            Preparing => &["prepare"],
            Joining => &["prepare", "join"],
            Networking | WaitingForReady => &["prepare", "join", "network"],
        }
    }

    /// What else must have been said.
    fn says(self) -> &'static str {
        match self {
            Bringing => "windows1: brings files",
            WaitingForReady => "windows1: the Node is NotReady",
            _ => "",
        }
    }
}

fn has_run(host: &Console, stage: &str) -> bool {
    let runs = journal::runs(host.layout()).unwrap_or_default();
    runs.iter().any(|run| run.as_str().ends_with(stage))
}

/// A host that stands still as soon as a stage has begun, until it is let go.
struct Held<'a> {
    host: &'a SimHost,
    still: Arc<AtomicBool>,
    free: Arc<AtomicBool>,
}

impl<'a> Held<'a> {
    fn at(stage: Stage, host: &'a SimHost) -> Self {
        // Lines are counted from here.
        host.cut_at(&[]);
        let (still, free) = (Arc::new(AtomicBool::default()), Arc::default());
        let held = Self {
            host,
            still: Arc::clone(&still),
            free: Arc::clone(&free),
        };
        let (console, passed) = (host.console(), AtomicU32::default());
        host.sim().on_moment(move |_| {
            if free.load(Ordering::SeqCst) || !stage.holds(&console) {
                return;
            }
            if passed.fetch_add(1, Ordering::SeqCst) < stage.later() {
                return;
            }
            still.store(true, Ordering::SeqCst);
            while !free.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        held
    }

    fn is_still(&self) -> bool {
        self.still.load(Ordering::SeqCst)
    }

    fn let_go(&self) {
        self.free.store(true, Ordering::SeqCst);
        self.host.sim().on_moment(|_| {});
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// A controller at work, what it says, and its record.
struct Controller {
    process: Child,
    folder: PathBuf,
}

impl Controller {
    fn start(ground: &Ground) -> Self {
        let folder = ground.cluster.agents().parent().unwrap().to_owned();
        let said = File::create(folder.join("said")).unwrap();
        let mut command = ground.command(&["apply", "--yes", "-v"]);
        command.stdout(Stdio::null()).stderr(said);
        let process = command.spawn().unwrap();
        Self { process, folder }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.join("said")).unwrap()
    }

    /// The parts in which a step of the host has begun, by its record.
    fn parts(&self) -> Vec<String> {
        let own = format!("-{}", self.process.id());
        let runs = fs::read_dir(self.folder.join(".casement/runs"));
        let mut runs = runs.into_iter().flatten().map(Result::unwrap);
        let run = runs.find(|it| it.file_name().to_string_lossy().ends_with(&own));
        let text = run.and_then(|it| fs::read_to_string(it.path().join("events.jsonl")).ok());
        let mut parts = Vec::new();
        for line in text.unwrap_or_default().lines() {
            // The last one may be half written.
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            let begins = event["event"]["what"]["stepBegan"].is_object();
            let part = event["part"].as_str().unwrap_or_default().to_owned();
            if event["host"] == HOST && begins && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    /// Kills it, which it must not have ended before.
    fn kill(&mut self, stage: Stage) {
        self.process.kill().unwrap();
        let ended = self.process.wait().unwrap();
        let said = self.said();
        assert_eq!(ended.signal(), Some(SIGKILL), "{stage:?}: {said}");
        assert_eq!(self.parts(), stage.parts(), "{stage:?}: {said}");
        assert!(said.contains(stage.says()), "{stage:?}: {said}");
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It has ended, unless the test is given up.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program that takes a while to be brought: what stands in for one may have empty
/// lines at its end.
fn lengthen(ground: &Ground, bytes: usize) {
    let folder = ground.cluster.agents().parent().unwrap().to_owned();
    let program = folder.join("programs/containerd.exe");
    let text = fs::read_to_string(&program).unwrap();
    let lines = "\n".repeat(bytes);
    fs::write(program, format!("{}\n{lines}", text.trim_end())).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_is_killed_in_any_stage_is_made_good_by_the_next_one() {
    let ground = Ground::start(1, true).await;
    let (wanted, _) = undisturbed(&ground).await;
    for stage in Stage::ALL {
        lengthen(&ground, if stage == Bringing { 64 << 20 } else { 0 });
        kill_in(stage, &ground).await;
        println!("killed: {stage:?}");
        made_good(&ground, &wanted, &format!("{stage:?}")).await;
    }
}

async fn kill_in(stage: Stage, ground: &Ground) {
    let host = ground.cluster.host(HOST).unwrap();
    let held = Held::at(stage, host);
    let mut controller = Controller::start(ground);
    let what = format!("{stage:?}");
    if stage != Bringing {
        let begun = |_: &SimCluster| held.is_still() && controller.parts() == stage.parts();
        ground.until(&what, begun).await;
    }
    let certificate = CERTIFICATE.parse().unwrap();
    let mut taken = None;
    if stage == WaitingForReady {
        let take = |world: &mut World| taken = world.entries.remove(&certificate);
        host.sim().meddle(take);
        assert!(taken.is_some(), "it has joined");
        held.let_go();
    }
    let says = |_: &SimCluster| controller.said().contains(stage.says());
    ground.until(&what, says).await;
    controller.kill(stage);
    let give_back = |world: &mut World| world.entries.extend(taken.map(|it| (certificate, it)));
    host.sim().meddle(give_back);
}
