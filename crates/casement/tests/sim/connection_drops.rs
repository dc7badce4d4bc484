//! The connection drops at every message of a run, and several times in one run: the run
//! continues, each event arrives once and in order, and the host ends in the same state
//! as without a drop.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use casement_node::sim::World;
use casement_remote::HostOs;
use casement_resource::wire::{Event, EventKind, ObservedStep};
use casement_resource::{
    Access, Directory, Env, File, NodeDocument, Resource, RunId, Secret, SecretFile, SecretName,
    Stage, TextPart,
};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::cancel::CancelSource;
use casement_run::host_agent::HostAgent as _;
use casement_run::secrets::Secrets;
use casement_sim::{Cut, SimSystem};
use futures_util::StreamExt as _;

use crate::host_fixture::{HostFixture, step};
use crate::random::SeededRng;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 18, 0, 41);
/// Hosts tested concurrently.
const AT_ONCE: usize = 4;
const TIMEOUT: Duration = Duration::from_secs(120);

struct Password;

impl Secrets for Password {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        let value = |name: &SecretName| (name.clone(), Secret::new("hunter2".to_owned()));
        Ok(names.iter().map(value).collect())
    }
}

fn document() -> NodeDocument {
    let directory = Directory {
        path: r"C:\k".parse().unwrap(),
        access: Access::Inherited,
    };
    let file = File {
        path: r"C:\k\shop.conf".parse().unwrap(),
        content: "a = 1\n".into(),
        access: Access::Inherited,
    };
    let secret = SecretFile {
        path: r"C:\k\secret".parse().unwrap(),
        text: vec![TextPart::Quoted("password".parse().unwrap())],
        fingerprints: BTreeMap::from([(
            "password".parse().unwrap(),
            Secret::new("hunter2".to_owned()).fingerprint("sim1"),
        )]),
    };
    let variable = Env {
        name: "NODE".to_owned(),
        value: "sim1".to_owned(),
    };
    let steps = vec![
        step("base", false, Resource::Directory(directory)),
        step("file", false, Resource::File(file)),
        step("secret", false, Resource::SecretFile(secret)),
        step("variable", false, Resource::Env(variable)),
    ];
    NodeDocument::new("sim1".to_owned(), Stage::Prepare, steps).unwrap()
}

/// What the controller receives, and the resulting state of the host.
#[derive(PartialEq)]
struct Trace {
    observations: [Vec<ObservedStep>; 2],
    events: Vec<(RunId, u64, EventKind)>,
    converged: World,
    removed: World,
    files: Vec<String>,
}

/// Observes, converges, observes again, removes and retires the agent.
async fn record(fixture: &HostFixture) -> Trace {
    let events = Mutex::new(Vec::new());
    let on_event = |event: &Event| {
        let Event {
            run,
            sequence,
            kind,
            ..
        } = event.clone();
        events.lock().unwrap().push((run, sequence, kind));
    };
    let document = document();
    let mut client = fixture.connect(HostOs::Windows).await;
    let before = client.observe(&document).await.unwrap();
    let run = "r1".parse().unwrap();
    let converged = client.converge(&run, &document, &Password, &on_event).await;
    assert_eq!(converged.unwrap().changed, 4);
    let after = client.observe(&document).await.unwrap();
    assert!(after.in_sync());
    let converged = fixture.host.sim().world();
    client
        .remove(&"r2".parse().unwrap(), &on_event)
        .await
        .unwrap();
    client.retire().await.unwrap();
    Trace {
        observations: [before.steps, after.steps],
        events: events.into_inner().unwrap(),
        converged,
        removed: fixture.host.sim().world(),
        files: files(fixture.host.console().disk()),
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inside = files(&entry.path()).into_iter();
            found.extend(inside.map(|path| format!("{name}/{path}")));
        }
        found.push(name);
    }
    found.sort();
    found
}

/// A run without drops, and its number of protocol lines.
async fn baseline() -> (Trace, u64) {
    let fixture = HostFixture::start(SimSystem::Windows, ADDRESS).await;
    let before = fixture.host.sim().world();
    let trace = record(&fixture).await;
    assert!(trace.removed == before, "everything is removed");
    assert!(trace.converged != before, "the run changed something");
    for run in ["r1", "r2"] {
        let events = trace.events.iter().filter(|it| it.0.as_str() == run);
        let numbers: Vec<u64> = events.map(|it| it.1).collect();
        let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
        assert!(numbers.len() > 4);
        assert_eq!(numbers, expected);
    }
    (trace, fixture.host.console().lines())
}

/// The same run with drops; returns how many of them happened.
async fn run_with_drops(drops: &[Cut], expected: &Trace) -> usize {
    let fixture = HostFixture::start(SimSystem::Windows, ADDRESS).await;
    fixture.host.cut_at(drops);
    let trace = tokio::time::timeout(TIMEOUT, record(&fixture)).await;
    let trace = trace.unwrap_or_else(|_| panic!("{drops:?}: timed out"));
    assert_eq!(trace.events, expected.events, "{drops:?}");
    assert_eq!(trace.observations, expected.observations, "{drops:?}");
    assert!(
        trace.converged == expected.converged,
        "{drops:?}: converged"
    );
    assert!(trace.removed == expected.removed, "{drops:?}: removed");
    assert_eq!(trace.files, expected.files, "{drops:?}");
    drops.len() - fixture.host.cuts_left()
}

/// A drop before each line and one after it.
fn each_drop(lines: u64) -> impl Iterator<Item = Cut> {
    let both = |line| [false, true].map(|arrives| Cut { line, arrives });
    (1..=lines).flat_map(both)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_resumes_after_a_drop_at_any_message() {
    let (expected, lines) = baseline().await;
    println!("{lines} lines in a run without drops");
    assert!(lines > 20);
    let expected = &expected;
    let happened: Vec<usize> = futures_util::stream::iter(each_drop(lines))
        .map(|at| async move { run_with_drops(&[at], expected).await })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    assert!(happened.iter().all(|it| *it == 1), "{happened:?}");
}

/// Runs with several drops.
const RUNS: u64 = 20;

/// Two or three drops: anywhere, or right after the previous one, during the reconnect.
fn several_drops(rng: &mut SeededRng, lines: u64) -> Vec<Cut> {
    let mut drops: Vec<Cut> = Vec::new();
    for _ in 0..2 + rng.below(2) {
        let last = drops.last().map_or(0, |drop| drop.line);
        let next = match rng.below(2) {
            0 => last + 1 + rng.below(3),
            _ => last + 1 + rng.below(lines.saturating_sub(last).max(1)),
        };
        let arrives = rng.below(2) == 1;
        drops.push(Cut {
            line: next,
            arrives,
        });
    }
    drops
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_resumes_after_each_of_several_drops() {
    let mut rng = SeededRng::from_environment();
    let (expected, lines) = baseline().await;
    let runs: Vec<_> = (0..RUNS).map(|_| several_drops(&mut rng, lines)).collect();
    let expected = &expected;
    let happened: Vec<usize> = futures_util::stream::iter(&runs)
        .map(|drops| async move { run_with_drops(drops, expected).await })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    assert!(happened.iter().all(|it| *it > 0), "{happened:?}");
    assert!(happened.iter().any(|it| *it > 1), "{happened:?}");
}

/// Cancels a run in its second step, then converges to the end. Returns whether the
/// first run was canceled, and its number of protocol lines.
async fn cancel_and_converge(fixture: &HostFixture) -> (bool, u64) {
    let (source, token) = CancelSource::new();
    let on_event = |event: &Event| {
        if matches!(&event.kind, EventKind::StepBegan { id, .. } if id.as_str() == "file") {
            source.cancel();
        }
    };
    let converge = async |client: &mut AgentClient, run: &str| {
        let run = run.parse().unwrap();
        client
            .converge(&run, &document(), &Password, &on_event)
            .await
    };
    let mut client = fixture.connect(HostOs::Windows).await;
    client.set_cancel_token(token);
    let ended = converge(&mut client, "r1").await;
    let lines = fixture.host.console().lines();
    client.close().await;
    let mut client = fixture.connect(HostOs::Windows).await;
    converge(&mut client, "r2").await.unwrap();
    client.close().await;
    match ended {
        Ok(_) => (false, lines),
        Err(RunError::Canceled { .. }) => (true, lines),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canceled_run_ends_whenever_the_connection_drops() {
    let fixture = HostFixture::start(SimSystem::Windows, ADDRESS).await;
    let (_, lines) = cancel_and_converge(&fixture).await;
    let expected = fixture.host.sim().world();
    let expected = &expected;
    let canceled: Vec<bool> = futures_util::stream::iter(each_drop(lines))
        .map(|at| async move {
            let fixture = HostFixture::start(SimSystem::Windows, ADDRESS).await;
            fixture.host.cut_at(&[at]);
            let ended = tokio::time::timeout(TIMEOUT, cancel_and_converge(&fixture)).await;
            let (was_canceled, _) = ended.unwrap_or_else(|_| panic!("{at:?}: timed out"));
            assert!(fixture.host.sim().world() == *expected, "{at:?}");
            was_canceled
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let count = canceled.iter().filter(|it| **it).count();
    println!(
        "{count} of {} runs were canceled before their end",
        canceled.len()
    );
    assert!(count > 0);
}
