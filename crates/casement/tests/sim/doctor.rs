//! `casement doctor` on clusters in random states, healthy ones included, with nothing
//! but the cluster file to go by.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use casement_sim::SimFault;
use serde_json::Value;

use crate::fixture::Fixture;
use crate::json_output::assert_documented;
use crate::random::SeededRng;

/// The expected code of each fault.
fn code(mishap: SimFault) -> &'static str {
    match mishap {
        SimFault::WrongAddress => "CAS-DOC-001",
        SimFault::RuntimeStopped => "CAS-DOC-002",
        SimFault::RemovedFlag => "CAS-DOC-003",
        SimFault::CniFolder => "CAS-DOC-005",
        SimFault::NetworkGone => "CAS-DOC-006",
        SimFault::ProxyNetwork => "CAS-DOC-007",
        SimFault::WrongAdapter => "CAS-DOC-008",
        SimFault::BadUpdate => "CAS-DOC-009",
        SimFault::LostRoute => "CAS-DOC-010",
        SimFault::ImageBuild => "CAS-DOC-011",
        SimFault::Unapproved => "CAS-DOC-012",
        SimFault::Unreachable => "CAS-SSH-005",
    }
}

/// Generous, for slow CI machines: a fault affects nodes and pods after a second.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Clusters tested concurrently.
const AT_ONCE: usize = 4;

async fn applied() -> Fixture {
    let fixture = Fixture::start(2, false).await;
    fixture.succeed(&["apply", "--yes"]).await;
    fixture
}

/// Pairs of host and code.
type Diagnosis = BTreeSet<(String, String)>;

/// Repeats the diagnosis until it is the expected one twice in a row; returns the last one.
async fn settled_diagnosis(fixture: &Fixture, expected: &Diagnosis) -> Diagnosis {
    let started = Instant::now();
    let mut before = false;
    loop {
        let found = diagnosis(fixture).await;
        let now = found == *expected;
        if now && before || started.elapsed() > TIMEOUT {
            return found;
        }
        before = now;
    }
}

async fn diagnosis(fixture: &Fixture) -> Diagnosis {
    let output = fixture.run(&["doctor", "-o", "json"]).await;
    let printed: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_documented(&printed, "Doctor");
    let findings = printed["findings"].as_array().unwrap();
    let expected = if findings.is_empty() { 0 } else { 5 };
    assert_eq!(output.status.code(), Some(expected), "{printed:#}");
    for finding in findings {
        let remedy = finding["error"]["help"].as_str().unwrap();
        let what = finding["error"]["message"].as_str().unwrap();
        assert!(!remedy.is_empty() && !what.contains('\n'), "{finding:#}");
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pairs = findings.iter();
    let pairs = pairs.map(|it| (text(&it["host"]), text(&it["error"]["code"])));
    pairs.collect()
}

/// Shuffled states: healthy, one fault, two faults on different hosts.
fn states(rng: &mut SeededRng) -> Vec<Vec<SimFault>> {
    let mut states: Vec<Vec<SimFault>> = vec![Vec::new(), Vec::new(), Vec::new()];
    states.extend(SimFault::ALL.map(|mishap| vec![mishap]));
    let mut next = |limit: usize| {
        let limit = u64::try_from(limit).unwrap();
        usize::try_from(rng.below(limit)).unwrap()
    };
    while states.len() < 20 {
        let pair = [SimFault::ALL[next(12)], SimFault::ALL[next(12)]];
        if pair[0].host() != pair[1].host() {
            states.push(pair.to_vec());
        }
    }
    for last in (1..states.len()).rev() {
        states.swap(last, next(last + 1));
    }
    states
}

fn expected(state: &[SimFault]) -> Diagnosis {
    let findings = state.iter();
    let findings = findings.map(|mishap| (mishap.host().to_owned(), code(*mishap).to_owned()));
    findings.collect()
}

async fn examine(state: &[SimFault]) -> Result<(), String> {
    let fixture = applied().await;
    for mishap in state {
        mishap.inject(&fixture.cluster).await?;
    }
    let expected = expected(state);
    let found = settled_diagnosis(&fixture, &expected).await;
    if found == expected {
        return Ok(());
    }
    Err(format!("{state:?}: expected {expected:?}, found {found:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn doctor_names_every_fault_and_nothing_on_healthy_clusters() {
    let states = states(&mut SeededRng::from_environment());
    let mut wrong = Vec::new();
    for some in states.chunks(AT_ONCE) {
        let examinations = some.iter().map(|state| {
            let state = state.clone();
            tokio::spawn(async move { examine(&state).await })
        });
        for examination in examinations.collect::<Vec<_>>() {
            wrong.extend(examination.await.unwrap().err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_fixes_what_it_can() {
    const FIXABLE: [SimFault; 4] = [
        SimFault::NetworkGone,
        SimFault::CniFolder,
        SimFault::ProxyNetwork,
        SimFault::LostRoute,
    ];
    let fixture = applied().await;
    let healthy = Diagnosis::new();
    for mishap in FIXABLE {
        mishap.inject(&fixture.cluster).await.unwrap();
        let expected = expected(&[mishap]);
        assert_eq!(settled_diagnosis(&fixture, &expected).await, expected);
        fixture.succeed(&["apply", "--yes"]).await;
        let found = settled_diagnosis(&fixture, &healthy).await;
        assert_eq!(found, healthy, "{mishap:?}");
    }
    // All at once: they hide each other, but not everything is hidden.
    for mishap in FIXABLE {
        mishap.inject(&fixture.cluster).await.unwrap();
    }
    let started = Instant::now();
    while diagnosis(&fixture).await.is_empty() {
        assert!(started.elapsed() < TIMEOUT, "nothing is found");
    }
    fixture.succeed(&["apply", "--yes"]).await;
    assert_eq!(settled_diagnosis(&fixture, &healthy).await, healthy);
}
