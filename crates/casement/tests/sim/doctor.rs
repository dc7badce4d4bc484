//! The diagnosis, blind: clusters in shuffled states, healthy ones among them, and
//! a `casement doctor` that knows nothing but the file.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::Duration;

use casement_lab::sim::{Mishap, SimCluster};
use serde_json::Value;

/// What each fault is to be called.
fn code(mishap: Mishap) -> &'static str {
    match mishap {
        Mishap::WrongAddress => "CAS-DOC-001",
        Mishap::RuntimeStopped => "CAS-DOC-002",
        Mishap::RemovedFlag => "CAS-DOC-003",
        Mishap::CniFolder => "CAS-DOC-005",
        Mishap::NetworkGone => "CAS-DOC-006",
        Mishap::ProxyNetwork => "CAS-DOC-007",
        Mishap::WrongAdapter => "CAS-DOC-008",
        Mishap::BadUpdate => "CAS-DOC-009",
        Mishap::LostRoute => "CAS-DOC-010",
        Mishap::ImageBuild => "CAS-DOC-011",
        Mishap::Unapproved => "CAS-DOC-012",
        Mishap::Unreachable => "CAS-SSH-005",
    }
}

/// How long nodes and pods may take to feel a fault.
const FELT: Duration = Duration::from_millis(1500);
/// As many clusters at once as this machine has time for.
const AT_ONCE: usize = 4;

struct Ground {
    cluster: SimCluster,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn joined() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = SimCluster::start(folder.path(), 2, false).await.unwrap();
        let ground = Self {
            cluster,
            _folder: folder,
        };
        let applied = ground.casement(&["apply", "--yes"]).await;
        let said = String::from_utf8_lossy(&applied.stderr).into_owned();
        assert!(applied.status.success(), "{said}");
        ground
    }

    async fn casement(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command
            .args(words)
            .arg("-f")
            .arg(self.cluster.cluster_file());
        command.arg("--agent-dir").arg(self.cluster.agents());
        command.current_dir(self.cluster.cluster_file().parent().unwrap());
        let run = tokio::task::spawn_blocking(move || command.output().unwrap());
        run.await.unwrap()
    }

    /// The findings, each with its host.
    async fn diagnosis(&self) -> BTreeSet<(String, String)> {
        tokio::time::sleep(FELT).await;
        let output = self.casement(&["doctor", "-o", "json"]).await;
        let said: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let findings = said["findings"].as_array().unwrap();
        let expected = if findings.is_empty() { 0 } else { 5 };
        assert_eq!(output.status.code(), Some(expected), "{said:#}");
        for finding in findings {
            let remedy = finding["remedy"].as_str().unwrap();
            let what = finding["what"].as_str().unwrap();
            assert!(!remedy.is_empty() && !what.contains('\n'), "{finding:#}");
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pairs = findings.iter();
        let pairs = pairs.map(|it| (text(&it["host"]), text(&it["code"])));
        pairs.collect()
    }
}

/// States of a cluster: nothing wrong, one thing, two things on different hosts.
fn states(seed: u64) -> Vec<Vec<Mishap>> {
    let mut states: Vec<Vec<Mishap>> = vec![Vec::new(), Vec::new(), Vec::new()];
    states.extend(Mishap::ALL.map(|mishap| vec![mishap]));
    let mut random = seed;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        usize::try_from(random >> 33).unwrap() % below
    };
    while states.len() < 20 {
        let pair = [Mishap::ALL[next(12)], Mishap::ALL[next(12)]];
        if pair[0].host() != pair[1].host() {
            states.push(pair.to_vec());
        }
    }
    for last in (1..states.len()).rev() {
        states.swap(last, next(last + 1));
    }
    states
}

async fn examine(state: &[Mishap]) -> Result<(), String> {
    let ground = Ground::joined().await;
    for mishap in state {
        mishap.strike(&ground.cluster).await?;
    }
    let expected: BTreeSet<(String, String)> = state
        .iter()
        .map(|mishap| (mishap.host().to_owned(), code(*mishap).to_owned()))
        .collect();
    let found = ground.diagnosis().await;
    if found == expected {
        return Ok(());
    }
    Err(format!("{state:?}: expected {expected:?}, found {found:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_fault_is_told_by_its_name_and_health_by_silence() {
    let seed = std::env::var("CASEMENT_SEED").ok();
    let seed = seed.and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos())
    });
    println!("CASEMENT_SEED={seed} replays this run");
    let states = states(seed);
    let mut wrong = Vec::new();
    for some in states.chunks(AT_ONCE) {
        let looks = some.iter().map(|state| {
            let state = state.clone();
            tokio::spawn(async move { examine(&state).await })
        });
        for look in looks.collect::<Vec<_>>() {
            wrong.extend(look.await.unwrap().err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_apply_can_mend_is_well_afterwards() {
    let ground = Ground::joined().await;
    for mishap in [
        Mishap::NetworkGone,
        Mishap::CniFolder,
        Mishap::ProxyNetwork,
        Mishap::LostRoute,
    ] {
        mishap.strike(&ground.cluster).await.unwrap();
    }
    assert!(!ground.diagnosis().await.is_empty());
    assert!(ground.casement(&["apply", "--yes"]).await.status.success());
    assert_eq!(ground.diagnosis().await, BTreeSet::new());
}
