//! Ctrl-C at every moment, as a terminal sends it: the exit code, the word on how to go
//! on, and the run that goes on.

use std::path::{Path, PathBuf};

use casement_node::sim::Thing;
use casement_resource::WindowsFeatureFacts;
use casement_sim::SimHost;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::at_work::{AtWork, Gate, within};
use crate::ground::Ground;
use crate::typed;
use crate::wire::Wire;

const APPLY: [&str; 2] = ["apply", "--yes"];
const RESET: [&str; 4] = ["reset", "--all", "--cluster", "--yes"];

fn windows1(ground: &Ground) -> &SimHost {
    ground.cluster.host("windows1").unwrap()
}

fn folder(ground: &Ground) -> PathBuf {
    ground.cluster.agents().parent().unwrap().to_owned()
}

/// Its features are on already, so that it is listened to all the time.
fn spare_boot(host: &SimHost) {
    host.furnish(|world| {
        for feature in world.features.values_mut() {
            feature.state = WindowsFeatureFacts::On;
        }
    });
}

/// What was said of a stop in the middle of the work.
fn assert_stopped(ended: &(Option<i32>, String), verb: &str) {
    let (code, said) = ended;
    assert_eq!(*code, Some(130), "{said}");
    for words in [
        "Stopping after the current step … (Ctrl-C again to leave at once)".to_owned(),
        format!("`casement {verb}` goes on from here."),
        "Stopped after ".to_owned(),
        format!("; `casement {verb}` goes on from there."),
    ] {
        assert!(said.contains(&words), "`{words}` is not in: {said}");
    }
    for words in ["failed", "error["] {
        assert!(!said.contains(words), "`{words}` is in: {said}");
    }
}

/// Stops a command while a host is in the middle of its changes.
async fn stop_in_the_middle(ground: &Ground, words: &[&str]) {
    let gate = Gate::close(windows1(ground), 3);
    let mut at_work = AtWork::begin(ground.command(words));
    ground.until("a change", |_| gate.holds()).await;
    let console = windows1(ground).console();
    let lines = console.lines();
    at_work.interrupt();
    at_work.says("goes on from here").await;
    ground
        .until("the host to hear of it", |_| console.lines() > lines)
        .await;
    gate.open();
    assert_stopped(&at_work.ends().await, words[0]);
}

/// The summaries of all records, oldest first; none for a run that left none.
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
async fn before_anything_is_changed_it_ends_at_once() {
    let ground = Ground::start(1, true).await;
    let host = windows1(&ground);
    // It takes connections and never says a word.
    let silent = TcpListener::bind((host.spec().address, 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let text = std::fs::read_to_string(ground.cluster.cluster_file()).unwrap();
    let text = text.replace(&host.port().to_string(), &port);
    std::fs::write(folder(&ground).join("silent.yaml"), text).unwrap();
    let address = host.spec().address.to_string();
    let join: Vec<&str> = "--kubeconfig admin.conf --key id_ed25519 --known-hosts known_hosts"
        .split(' ')
        .chain(["--programs", "programs", "--yes", "--port", &port])
        .collect();
    let of_file = ["-f", "silent.yaml"];
    for (words, more) in [
        (&APPLY[..], &of_file[..]),
        (&["plan"], &of_file),
        (&["status"], &of_file),
        (&RESET, &of_file),
        (&["join", &address], &join),
    ] {
        let words = [words, more].concat();
        let at_work = AtWork::begin(ground.command(&words));
        let (_connection, _) = within("a connection", silent.accept()).await.unwrap();
        at_work.interrupt();
        let (code, said) = at_work.ends().await;
        assert_eq!(code, Some(130), "{said}");
        let verb = words[0];
        let word = format!("Stopped before anything was changed; `casement {verb}` begins anew.");
        assert!(said.contains(&word), "{said}");
    }
    assert_eq!(host.left_behind(), [] as [&str; 0]);
    assert!(!folder(&ground).join(".casement/runs").exists());
    ground.succeed(&APPLY).await;
    ground.succeed(&RESET).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_brought_stays_for_the_next_run() {
    let ground = Ground::start(1, true).await;
    let host = windows1(&ground);
    // What is white is no part of a stand-in, and takes its time on the way.
    let program = folder(&ground).join("programs/host-local.exe");
    let text = std::fs::read_to_string(&program).unwrap() + &" ".repeat(6_000_000);
    std::fs::write(&program, text).unwrap();
    let wire = Wire::to(host, 2_000_000).await;
    for file in ["cluster.yaml", "known_hosts"] {
        let file = folder(&ground).join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace(&host.port().to_string(), &wire.port().to_string());
        std::fs::write(&file, text).unwrap();
    }
    let at_work = AtWork::begin(ground.command(&APPLY));
    within("a wire that is full", wire.is_full()).await;
    at_work.interrupt();
    assert_stopped(&at_work.ends().await, "apply");
    let store = host.console().disk().join("ProgramData/casement/blobs");
    let parts = || {
        let names = std::fs::read_dir(&store).unwrap().flatten();
        let parts = names.filter(|it| it.file_name().to_string_lossy().ends_with(".part"));
        parts.map(|it| it.metadata().unwrap().len()).sum::<u64>()
    };
    assert!(parts() > 0, "some of it is there");
    let sent = wire.carried();
    ground.succeed(&APPLY).await;
    assert!(wire.carried() - sent < 6_000_000, "not from the beginning");
    assert_eq!(parts(), 0);
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_finish_their_step_and_the_next_apply_goes_on() {
    let ground = Ground::start(2, true).await;
    spare_boot(windows1(&ground));
    stop_in_the_middle(&ground, &APPLY).await;
    let changes = windows1(&ground).sim().changes();
    assert!(changes < 10, "it went on for {changes} changes");
    let [(record, summary)] = &summaries(&folder(&ground))[..] else {
        panic!("one record");
    };
    assert_eq!(outcome(summary), "stopped", "{}", record.display());
    ground.succeed(&APPLY).await;
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_one_ends_it_at_once() {
    let ground = Ground::start(1, true).await;
    spare_boot(windows1(&ground));
    let gate = Gate::close(windows1(&ground), 3);
    let mut at_work = AtWork::begin(ground.command(&APPLY));
    ground.until("a change", |_| gate.holds()).await;
    at_work.interrupt();
    at_work.says("goes on from here").await;
    at_work.interrupt();
    // The host is still held.
    let (code, said) = at_work.ends().await;
    assert_eq!(code, Some(130), "{said}");
    let summaries = summaries(&folder(&ground));
    assert_eq!(outcome(&summaries[0].1), "stopped", "{said}");
    let hosts = &summaries[0].1.as_ref().unwrap()["hosts"];
    assert_eq!(hosts[1]["error"], "left at once", "{hosts}");
    gate.open();
    ground.succeed(&APPLY).await;
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_on_for_a_node_that_is_not_ready() {
    let ground = Ground::start(1, true).await;
    ground.succeed(&APPLY).await;
    // Somebody else's configuration comes first in its folder, and is none.
    let broken = r"C:\etc\cni\net.d\00-broken.conf".parse().unwrap();
    windows1(&ground).sim().meddle(|world| {
        let access = world.entries.values().next().unwrap().1.clone();
        let thing = Thing::File(b"{}".to_vec());
        world.entries.insert(broken, (thing, access));
    });
    let status = async || typed::said(&ground.run(&["status"]).await);
    for _ in 0..100 {
        if status().await.contains("NotReady") {
            break;
        }
    }
    let mut at_work = AtWork::begin(ground.command(&APPLY));
    at_work.says("the Node is NotReady").await;
    at_work.interrupt();
    assert_stopped(&at_work.ends().await, "apply");
    windows1(&ground).sim().meddle(|world| {
        let broken = r"C:\etc\cni\net.d\00-broken.conf".parse().unwrap();
        world.entries.remove(&broken);
    });
    ground.succeed(&APPLY).await;
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_is_stopped_and_gone_on_with_too() {
    let ground = Ground::start(2, true).await;
    ground.succeed(&APPLY).await;
    stop_in_the_middle(&ground, &RESET).await;
    assert!(
        !windows1(&ground).left_behind().is_empty(),
        "it was stopped"
    );
    let summaries = summaries(&folder(&ground));
    let outcomes: Vec<&str> = summaries.iter().map(|it| outcome(&it.1)).collect();
    assert_eq!(outcomes, ["done", "stopped"]);
    ground.succeed(&RESET).await;
    for host in ground.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

/// What `report` says of a run.
async fn report(ground: &Ground, record: &Path) -> Value {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_casement"));
    command.current_dir(folder(ground));
    command.args(["report", "-o", "json"]).arg(record);
    serde_json::from_str(&typed::succeed(command).await).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_killed_is_shown_as_one_that_was_cut_off() {
    let ground = Ground::start(1, true).await;
    let gate = Gate::close(windows1(&ground), 3);
    let at_work = AtWork::begin(ground.command(&APPLY));
    ground.until("a change", |_| gate.holds()).await;
    // The host is ahead of its controller: what it has done is on its way there.
    let events = || {
        let records = summaries(&folder(&ground)).into_iter();
        let events = records.map(|(record, _)| record.join("events.jsonl"));
        let texts = events.filter_map(|path| std::fs::read_to_string(path).ok());
        texts.collect::<String>()
    };
    let arrived = |line: &str| line.contains(r#""host":"windows1""#) && line.contains("hanged");
    ground
        .until("a change in the record", |_| events().lines().any(arrived))
        .await;
    at_work.kill().await;
    gate.open();
    let [(record, None)] = &summaries(&folder(&ground))[..] else {
        panic!("one record, without a summary");
    };
    let shown = report(&ground, record).await;
    assert_eq!(shown["outcome"], "cut off", "{shown:#}");
    assert_eq!(shown["verb"], "apply", "{shown:#}");
    let hosts = shown["hosts"].as_array().unwrap();
    let host = hosts.iter().find(|host| host["name"] == "windows1");
    let steps = host.and_then(|host| host["steps"].as_array()).unwrap();
    assert!(!steps.is_empty(), "{shown:#}");
    assert!(!shown["objects"].as_array().unwrap().is_empty());
    ground.succeed(&APPLY).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_cluster_goes_away_leaves_a_summary() {
    let ground = Ground::start(1, true).await;
    let api = ground.cluster.api().address();
    let wire = Wire::between(api, usize::MAX).await;
    let admin = folder(&ground).join("admin.conf");
    let right = std::fs::read_to_string(&admin).unwrap();
    let through = right.replace(&api.to_string(), &format!("{}:{}", api.ip(), wire.port()));
    std::fs::write(&admin, through).unwrap();
    let gate = Gate::close(windows1(&ground), 3);
    let at_work = AtWork::begin(ground.command(&APPLY));
    ground.until("a change", |_| gate.holds()).await;
    drop(wire);
    gate.open();
    let (code, said) = at_work.ends().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error[CAS-API-"), "{said}");
    let [(record, summary)] = &summaries(&folder(&ground))[..] else {
        panic!("one record");
    };
    assert_eq!(outcome(summary), "failed", "{summary:?}");
    let shown = report(&ground, record).await;
    assert!(shown["hosts"][0]["error"].is_string(), "{shown:#}");
    std::fs::write(&admin, right).unwrap();
    ground.succeed(&APPLY).await;
}
