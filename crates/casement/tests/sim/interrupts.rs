//! Ctrl-C at various points of a run: the exit code, the message on how to continue, and
//! the run that continues.

use std::path::{Path, PathBuf};

use casement_node::sim::SimEntry;
use casement_resource::WindowsFeatureFacts;
use casement_sim::SimHost;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::command;
use crate::fixture::Fixture;
use crate::json_output::assert_documented;
use crate::running_command::{Barrier, RunningCommand, with_timeout};
use crate::stalling_proxy::StallingProxy;

const APPLY: [&str; 2] = ["apply", "--yes"];
const RESET: [&str; 4] = ["reset", "--all", "--cluster", "--yes"];

fn windows1(fixture: &Fixture) -> &SimHost {
    fixture.cluster.host("windows1").unwrap()
}

fn folder(fixture: &Fixture) -> PathBuf {
    fixture.cluster.agents().parent().unwrap().to_owned()
}

/// Turns on the Windows features, so that the host does not reboot during the run.
fn skip_reboot(host: &SimHost) {
    host.customize(|world| {
        for feature in world.features.values_mut() {
            feature.state = WindowsFeatureFacts::On;
        }
    });
}

/// Asserts the output of a run that was interrupted between changes.
fn assert_interrupted(result: &(Option<i32>, String), verb: &str) {
    let (code, printed) = result;
    assert_eq!(*code, Some(130), "{printed}");
    for part in [
        "Stopping after the current step ".to_owned(),
        " (press again to exit now).".to_owned(),
        format!("\nRun `casement {verb}` to resume."),
        "Stopped after ".to_owned(),
        format!(". Run `casement {verb}` to resume."),
    ] {
        assert!(printed.contains(&part), "`{part}` is not in: {printed}");
    }
    for part in ["failed", "error["] {
        assert!(!printed.contains(part), "`{part}` is in: {printed}");
    }
}

/// Interrupts a command while a host is between two changes.
async fn interrupt_between_changes(fixture: &Fixture, args: &[&str]) {
    let barrier = Barrier::after_changes(windows1(fixture), 3);
    let mut running = RunningCommand::start(fixture.command(args));
    fixture
        .wait_until("a change", |_| barrier.is_blocking())
        .await;
    let console = windows1(fixture).console();
    let lines = console.lines();
    running.interrupt();
    running.wait_for("to resume.").await;
    fixture
        .wait_until("the host receives the cancellation", |_| {
            console.lines() > lines
        })
        .await;
    barrier.open();
    assert_interrupted(&running.wait().await, args[0]);
}

/// The run records with their summaries, oldest first.
fn summaries(folder: &Path) -> Vec<(PathBuf, Option<Value>)> {
    let records = std::fs::read_dir(folder.join(".casement/runs")).unwrap();
    let mut records: Vec<PathBuf> = records.map(|entry| entry.unwrap().path()).collect();
    records.sort();
    let read = |record: PathBuf| {
        let text = std::fs::read_to_string(record.join("summary.json")).ok();
        let summary = text.map(|text| serde_json::from_str(&text).unwrap());
        (record, summary)
    };
    records.into_iter().map(read).collect()
}

fn outcome(summary: &Option<Value>) -> &str {
    let outcome = summary.as_ref().and_then(|it| it["outcome"].as_str());
    outcome.unwrap_or("none")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupt_before_any_change_exits_at_once() {
    let fixture = Fixture::start(1, true).await;
    let host = windows1(&fixture);
    // It accepts connections and sends nothing.
    let silent = TcpListener::bind((host.spec().address, 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let text = std::fs::read_to_string(fixture.cluster.cluster_file()).unwrap();
    let text = text.replace(&host.port().to_string(), &port);
    std::fs::write(folder(&fixture).join("silent.yaml"), text).unwrap();
    let address = host.spec().address.to_string();
    let join: Vec<&str> = "--kubeconfig admin.conf --key id_ed25519 --known-hosts known_hosts"
        .split(' ')
        .chain(["--programs", "programs", "--yes", "--port", &port])
        .collect();
    let file_args = ["-f", "silent.yaml"];
    for (args, more) in [
        (&APPLY[..], &file_args[..]),
        (&["plan"], &file_args),
        (&["status"], &file_args),
        (&RESET, &file_args),
        (&["join", &address], &join),
    ] {
        let args = [args, more].concat();
        let running = RunningCommand::start(fixture.command(&args));
        let (_connection, _) = with_timeout("a connection", silent.accept()).await.unwrap();
        running.interrupt();
        let (code, printed) = running.wait().await;
        assert_eq!(code, Some(130), "{printed}");
        let verb = args[0];
        let message =
            format!("Stopped before any changes were made. Run `casement {verb}` to start again.");
        assert!(printed.contains(&message), "{printed}");
    }
    assert_eq!(host.left_behind(), [] as [&str; 0]);
    assert!(!folder(&fixture).join(".casement/runs").exists());
    fixture.succeed(&APPLY).await;
    fixture.succeed(&RESET).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_upload_is_resumed_by_the_next_run() {
    let fixture = Fixture::start(1, true).await;
    let host = windows1(&fixture);
    // Trailing whitespace is not part of a fake program, but takes time to upload.
    let program = folder(&fixture).join("programs/host-local.exe");
    let text = std::fs::read_to_string(&program).unwrap() + &" ".repeat(6_000_000);
    std::fs::write(&program, text).unwrap();
    let proxy = StallingProxy::to_host(host, 2_000_000).await;
    for file in ["cluster.yaml", "known_hosts"] {
        let file = folder(&fixture).join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace(&host.port().to_string(), &proxy.port().to_string());
        std::fs::write(&file, text).unwrap();
    }
    let running = RunningCommand::start(fixture.command(&APPLY));
    with_timeout("a stalled proxy", proxy.wait_until_stalled()).await;
    running.interrupt();
    assert_interrupted(&running.wait().await, "apply");
    let store = host.console().disk().join("ProgramData/casement/blobs");
    let parts = || {
        let names = std::fs::read_dir(&store).unwrap().flatten();
        let parts = names.filter(|it| it.file_name().to_string_lossy().ends_with(".part"));
        parts.map(|it| it.metadata().unwrap().len()).sum::<u64>()
    };
    assert!(parts() > 0, "part of the file has arrived");
    let sent = proxy.forwarded();
    fixture.succeed(&APPLY).await;
    assert!(
        proxy.forwarded() - sent < 6_000_000,
        "not from the beginning"
    );
    assert_eq!(parts(), 0);
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_finish_the_current_step_and_the_next_apply_continues() {
    let fixture = Fixture::start(2, true).await;
    skip_reboot(windows1(&fixture));
    interrupt_between_changes(&fixture, &APPLY).await;
    let changes = windows1(&fixture).sim().changes();
    assert!(changes < 10, "the host continued for {changes} changes");
    let [(record, summary)] = &summaries(&folder(&fixture))[..] else {
        panic!("one record");
    };
    assert_eq!(outcome(summary), "stopped", "{}", record.display());
    fixture.succeed(&APPLY).await;
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_interrupt_exits_at_once() {
    let fixture = Fixture::start(1, true).await;
    skip_reboot(windows1(&fixture));
    let barrier = Barrier::after_changes(windows1(&fixture), 3);
    let mut running = RunningCommand::start(fixture.command(&APPLY));
    fixture
        .wait_until("a change", |_| barrier.is_blocking())
        .await;
    running.interrupt();
    running.wait_for("to resume.").await;
    running.interrupt();
    // The host is still blocked.
    let (code, printed) = running.wait().await;
    assert_eq!(code, Some(130), "{printed}");
    let summaries = summaries(&folder(&fixture));
    assert_eq!(outcome(&summaries[0].1), "stopped", "{printed}");
    let hosts = &summaries[0].1.as_ref().unwrap()["hosts"];
    assert_eq!(
        hosts[1]["error"]["message"], "exited before the host finished",
        "{hosts}"
    );
    barrier.open();
    fixture.succeed(&APPLY).await;
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupt_ends_the_wait_for_a_ready_node() {
    let fixture = Fixture::start(1, true).await;
    fixture.succeed(&APPLY).await;
    // An invalid configuration of another tool sorts first in the folder.
    let broken = r"C:\etc\cni\net.d\00-broken.conf".parse().unwrap();
    windows1(&fixture).sim().modify_world(|world| {
        let access = world.entries.values().next().unwrap().1.clone();
        let thing = SimEntry::File(b"{}".to_vec());
        world.entries.insert(broken, (thing, access));
    });
    let status = async || command::combined_output(&fixture.run(&["status"]).await);
    for _ in 0..100 {
        if status().await.contains("NotReady") {
            break;
        }
    }
    let mut running = RunningCommand::start(fixture.command(&APPLY));
    running.wait_for("Node is NotReady").await;
    running.interrupt();
    assert_interrupted(&running.wait().await, "apply");
    windows1(&fixture).sim().modify_world(|world| {
        let broken = r"C:\etc\cni\net.d\00-broken.conf".parse().unwrap();
        world.entries.remove(&broken);
    });
    fixture.succeed(&APPLY).await;
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_reset_is_resumed() {
    let fixture = Fixture::start(2, true).await;
    fixture.succeed(&APPLY).await;
    interrupt_between_changes(&fixture, &RESET).await;
    assert!(
        !windows1(&fixture).left_behind().is_empty(),
        "the reset was interrupted"
    );
    let summaries = summaries(&folder(&fixture));
    let outcomes: Vec<&str> = summaries.iter().map(|it| outcome(&it.1)).collect();
    assert_eq!(outcomes, ["done", "stopped"]);
    fixture.succeed(&RESET).await;
    for host in fixture.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

async fn report(fixture: &Fixture, record: &Path) -> Value {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_casement"));
    command.current_dir(folder(fixture));
    command.args(["report", "-o", "json"]).arg(record);
    let report = serde_json::from_str(&command::succeed(command).await).unwrap();
    assert_documented(&report, "Report");
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_shows_a_killed_run() {
    let fixture = Fixture::start(1, true).await;
    let barrier = Barrier::after_changes(windows1(&fixture), 3);
    let running = RunningCommand::start(fixture.command(&APPLY));
    fixture
        .wait_until("a change", |_| barrier.is_blocking())
        .await;
    // The host is ahead of its controller: wait until its events have arrived.
    let events = || {
        let records = summaries(&folder(&fixture)).into_iter();
        let events = records.map(|(record, _)| record.join("events.jsonl"));
        let texts = events.filter_map(|path| std::fs::read_to_string(path).ok());
        texts.collect::<String>()
    };
    let arrived = |line: &str| line.contains(r#""host":"windows1""#) && line.contains("hanged");
    fixture
        .wait_until("a change in the record", |_| events().lines().any(arrived))
        .await;
    running.kill().await;
    barrier.open();
    let [(record, None)] = &summaries(&folder(&fixture))[..] else {
        panic!("one record, without a summary");
    };
    let shown = report(&fixture, record).await;
    assert_eq!(shown["outcome"], "incomplete", "{shown:#}");
    assert_eq!(shown["verb"], "apply", "{shown:#}");
    let hosts = shown["hosts"].as_array().unwrap();
    let host = hosts.iter().find(|host| host["name"] == "windows1");
    let steps = host.and_then(|host| host["steps"].as_array()).unwrap();
    assert!(!steps.is_empty(), "{shown:#}");
    assert!(!shown["objects"].as_array().unwrap().is_empty());
    fixture.succeed(&APPLY).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_whose_cluster_disappears_writes_a_summary() {
    let fixture = Fixture::start(1, true).await;
    let api = fixture.cluster.api().address();
    let proxy = StallingProxy::to_address(api, usize::MAX).await;
    let admin = folder(&fixture).join("admin.conf");
    let original = std::fs::read_to_string(&admin).unwrap();
    let proxied = original.replace(&api.to_string(), &format!("{}:{}", api.ip(), proxy.port()));
    std::fs::write(&admin, proxied).unwrap();
    let barrier = Barrier::after_changes(windows1(&fixture), 3);
    let running = RunningCommand::start(fixture.command(&APPLY));
    fixture
        .wait_until("a change", |_| barrier.is_blocking())
        .await;
    drop(proxy);
    barrier.open();
    let (code, printed) = running.wait().await;
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("error[CAS-API-"), "{printed}");
    let [(record, summary)] = &summaries(&folder(&fixture))[..] else {
        panic!("one record");
    };
    assert_eq!(outcome(summary), "failed", "{summary:?}");
    let shown = report(&fixture, record).await;
    assert!(
        shown["hosts"][0]["error"]["message"].is_string(),
        "{shown:#}"
    );
    std::fs::write(&admin, original).unwrap();
    fixture.succeed(&APPLY).await;
}
