//! The diagnosis, blind: clusters in shuffled states, healthy ones among them, and
//! a `casement doctor` that knows nothing but the file.

use std::collections::BTreeSet;
use std::time::Duration;

use casement_sim::Mishap;
use serde_json::Value;

use crate::chance::Chance;
use crate::ground::Ground;

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

async fn joined() -> Ground {
    let ground = Ground::start(2, false).await;
    ground.succeed(&["apply", "--yes"]).await;
    ground
}

/// The findings, each with its host.
async fn diagnosis(ground: &Ground) -> BTreeSet<(String, String)> {
    tokio::time::sleep(FELT).await;
    let output = ground.run(&["doctor", "-o", "json"]).await;
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

/// States of a cluster: nothing wrong, one thing, two things on different hosts.
fn states(chance: &mut Chance) -> Vec<Vec<Mishap>> {
    let mut states: Vec<Vec<Mishap>> = vec![Vec::new(), Vec::new(), Vec::new()];
    states.extend(Mishap::ALL.map(|mishap| vec![mishap]));
    let mut next = |below: usize| {
        let below = u64::try_from(below).unwrap();
        usize::try_from(chance.below(below)).unwrap()
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
    let ground = joined().await;
    for mishap in state {
        mishap.strike(&ground.cluster).await?;
    }
    let expected: BTreeSet<(String, String)> = state
        .iter()
        .map(|mishap| (mishap.host().to_owned(), code(*mishap).to_owned()))
        .collect();
    let found = diagnosis(&ground).await;
    if found == expected {
        return Ok(());
    }
    Err(format!("{state:?}: expected {expected:?}, found {found:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_fault_is_told_by_its_name_and_health_by_silence() {
    let states = states(&mut Chance::from_environment());
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
    let ground = joined().await;
    for mishap in [
        Mishap::NetworkGone,
        Mishap::CniFolder,
        Mishap::ProxyNetwork,
        Mishap::LostRoute,
    ] {
        mishap.strike(&ground.cluster).await.unwrap();
    }
    assert!(!diagnosis(&ground).await.is_empty());
    ground.succeed(&["apply", "--yes"]).await;
    assert_eq!(diagnosis(&ground).await, BTreeSet::new());
}
