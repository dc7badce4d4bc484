//! A connection that is cut at every message of a run, and at several in one: the run
//! goes on, each event is heard once and in its place, and the host ends as it does
//! without a cut.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use casement_node::sim::World;
use casement_remote::HostOs;
use casement_resource::wire::{Event, ObservedStep, What};
use casement_resource::{
    Access, Directory, Env, File, NodeDocument, Resource, RunId, Secret, SecretFile, SecretName,
    Stage, TextPart,
};
use casement_run::RunError;
use casement_run::link::Link;
use casement_run::secrets::Secrets;
use casement_run::stop::StopSwitch;
use casement_sim::{Cut, SimSystem};
use futures_util::StreamExt as _;

use crate::chance::Chance;
use crate::rig::{Rig, step};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 18, 0, 41);
/// How many hosts are cut at once.
const AT_ONCE: usize = 4;
/// A run that takes so long hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// What a host is asked for.
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

/// What a controller hears, and what becomes of the host.
#[derive(PartialEq)]
struct Story {
    looks: [Vec<ObservedStep>; 2],
    events: Vec<(RunId, u64, What)>,
    converged: World,
    left: World,
    files: Vec<String>,
}

/// Looks, converges, looks again, removes and leaves.
async fn story(rig: &Rig) -> Story {
    let events = Mutex::new(Vec::new());
    let tell = |event: &Event| {
        let Event {
            run,
            sequence,
            what,
            ..
        } = event.clone();
        events.lock().unwrap().push((run, sequence, what));
    };
    let document = document();
    let mut link = rig.link(HostOs::Windows).await;
    let before = link.observe(&document).await.unwrap();
    let run = "r1".parse().unwrap();
    let converged = link.converge(&run, &document, &Password, &tell).await;
    assert_eq!(converged.unwrap().changed, 4);
    let after = link.observe(&document).await.unwrap();
    assert!(after.is_right());
    let converged = rig.host.sim().world();
    link.remove(&"r2".parse().unwrap(), &tell).await.unwrap();
    link.leave().await.unwrap();
    Story {
        looks: [before.steps, after.steps],
        events: events.into_inner().unwrap(),
        converged,
        left: rig.host.sim().world(),
        files: files(rig.host.console().disk()),
    }
}

/// Everything that lies in a folder.
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

/// One that nobody cuts, and how many lines were said.
async fn undisturbed() -> (Story, u64) {
    let rig = Rig::start(SimSystem::Windows, ADDRESS).await;
    let before = rig.host.sim().world();
    let story = story(&rig).await;
    assert!(story.left == before, "nothing is left");
    assert!(story.converged != before, "it did something");
    for run in ["r1", "r2"] {
        let events = story.events.iter().filter(|it| it.0.as_str() == run);
        let numbers: Vec<u64> = events.map(|it| it.1).collect();
        let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
        assert!(numbers.len() > 4);
        assert_eq!(numbers, expected);
    }
    (story, rig.host.console().lines())
}

/// The same with these cuts; how many of them came.
async fn cut(cuts: &[Cut], wanted: &Story) -> usize {
    let rig = Rig::start(SimSystem::Windows, ADDRESS).await;
    rig.host.cut_at(cuts);
    let told = tokio::time::timeout(LONGEST, story(&rig)).await;
    let told = told.unwrap_or_else(|_| panic!("{cuts:?}: it does not end"));
    assert_eq!(told.events, wanted.events, "{cuts:?}");
    assert_eq!(told.looks, wanted.looks, "{cuts:?}");
    assert!(told.converged == wanted.converged, "{cuts:?}: converged");
    assert!(told.left == wanted.left, "{cuts:?}: left");
    assert_eq!(told.files, wanted.files, "{cuts:?}");
    cuts.len() - rig.host.cuts_left()
}

/// A cut before each line and one after it.
fn each(lines: u64) -> impl Iterator<Item = Cut> {
    let both = |line| [false, true].map(|arrives| Cut { line, arrives });
    (1..=lines).flat_map(both)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_cut_at_any_message_goes_on_after_it() {
    let (wanted, lines) = undisturbed().await;
    println!("{lines} lines in an undisturbed run");
    assert!(lines > 20);
    let wanted = &wanted;
    let came: Vec<usize> = futures_util::stream::iter(each(lines))
        .map(|at| async move { cut(&[at], wanted).await })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    assert!(came.iter().all(|it| *it == 1), "{came:?}");
}

/// How many runs have several cuts.
const RUNS: u64 = 20;

/// Two or three cuts: anywhere, or close behind the one before, where the connection is
/// just being made anew.
fn several(chance: &mut Chance, lines: u64) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    for _ in 0..2 + chance.below(2) {
        let last = cuts.last().map_or(0, |cut| cut.line);
        let next = match chance.below(2) {
            0 => last + 1 + chance.below(3),
            _ => last + 1 + chance.below(lines.saturating_sub(last).max(1)),
        };
        let arrives = chance.below(2) == 1;
        cuts.push(Cut {
            line: next,
            arrives,
        });
    }
    cuts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_cut_several_times_goes_on_each_time() {
    let mut chance = Chance::from_environment();
    let (wanted, lines) = undisturbed().await;
    let runs: Vec<_> = (0..RUNS).map(|_| several(&mut chance, lines)).collect();
    let wanted = &wanted;
    let came: Vec<usize> = futures_util::stream::iter(&runs)
        .map(|cuts| async move { cut(cuts, wanted).await })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    assert!(came.iter().all(|it| *it > 0), "{came:?}");
    assert!(came.iter().any(|it| *it > 1), "{came:?}");
}

/// Stops a run in its second step; how it ended, and how many lines were said. Then
/// converges to the end.
async fn stopped(rig: &Rig) -> (bool, u64) {
    let (switch, stop) = StopSwitch::new();
    let tell = |event: &Event| {
        if matches!(&event.what, What::StepBegan { id, .. } if id.as_str() == "file") {
            switch.stop();
        }
    };
    let converge = async |link: &mut Link, run: &str| {
        let run = run.parse().unwrap();
        link.converge(&run, &document(), &Password, tell).await
    };
    let mut link = rig.link(HostOs::Windows).await;
    link.heed(stop);
    let ended = converge(&mut link, "r1").await;
    let lines = rig.host.console().lines();
    link.close().await;
    let mut link = rig.link(HostOs::Windows).await;
    converge(&mut link, "r2").await.unwrap();
    link.close().await;
    match ended {
        Ok(_) => (false, lines),
        Err(RunError::Stopped { .. }) => (true, lines),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_stopped_ends_whenever_it_is_cut() {
    let rig = Rig::start(SimSystem::Windows, ADDRESS).await;
    let (_, lines) = stopped(&rig).await;
    let wanted = rig.host.sim().world();
    let wanted = &wanted;
    let stops: Vec<bool> = futures_util::stream::iter(each(lines))
        .map(|at| async move {
            let rig = Rig::start(SimSystem::Windows, ADDRESS).await;
            rig.host.cut_at(&[at]);
            let ended = tokio::time::timeout(LONGEST, stopped(&rig)).await;
            let (stopped, _) = ended.unwrap_or_else(|_| panic!("{at:?}: it does not end"));
            assert!(rig.host.sim().world() == *wanted, "{at:?}");
            stopped
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let count = stops.iter().filter(|it| **it).count();
    println!("{count} of {} were stopped before their end", stops.len());
    assert!(count > 0);
}
