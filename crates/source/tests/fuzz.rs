//! Fuzz test: mutates a corpus for `CASEMENT_FUZZ_SECONDS` (default 5).
//!
//! Not coverage-guided, so it needs no special compiler. For every input there
//! must be no panic, no timeout, bounded memory, and a result that callers can
//! use. A failing input is saved in `target/fuzz/` under its seed;
//! `CASEMENT_FUZZ_SEED` repeats a run. The corpus is `crates/source/corpus/`, which
//! includes earlier failures, and all cluster files of `scenarios/` and
//! `examples/`.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "fuzz/memory.rs"]
mod memory;
#[path = "fuzz/mutate.rs"]
mod mutate;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use casement_diag::{Style, has_errors, json, render_all};
use casement_source::{load, load_bytes, normalized, with_defaults};
use mutate::Random;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting::new();

/// Long enough to show superlinear growth.
const MAX_INPUT: usize = 64 << 10;
/// Limit in bytes, in addition to the input.
const MAX_MEMORY: usize = 64 << 20;
/// Far above the usual time, also on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(10);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    let mut folders = vec![
        root().join("crates/source/corpus"),
        root().join("examples"),
        root().join("scenarios"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml" || e == "bin") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 40, "the corpus is incomplete");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Does everything that callers do with a result.
fn process(input: &[u8]) {
    let loaded = load_bytes("cluster.yaml", input);
    assert_eq!(loaded.cluster.is_none(), has_errors(&loaded.diagnostics));
    render_all(&loaded.diagnostics, Some(&loaded.map), Style::Color);
    json(&loaded.diagnostics, Some(&loaded.map));
    let Some(cluster) = loaded.cluster else {
        return;
    };
    for text in [
        normalized(&cluster, &loaded.map).unwrap(),
        with_defaults(&cluster, &loaded.map).unwrap(),
    ] {
        let again = load("cluster.yaml", &text);
        assert_eq!(again.cluster.as_ref(), Some(&cluster), "{text}");
    }
}

/// The current input and its start time.
static CURRENT: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// The reason if an input fails.
fn failure(input: &[u8]) -> Option<String> {
    *CURRENT.lock().unwrap() = Some((Instant::now(), input.to_vec()));
    MEMORY.reset();
    let outcome = catch_unwind(|| process(input));
    let memory = MEMORY.peak();
    *CURRENT.lock().unwrap() = None;
    if outcome.is_err() {
        return Some("panic".to_owned());
    }
    (memory > MAX_MEMORY).then(|| format!("used {memory} bytes"))
}

/// Exits the process on a timeout, because the input may never finish.
fn start_watchdog(seed: u64) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = CURRENT.lock().unwrap().clone();
            if let Some((since, input)) = now
                && since.elapsed() > MAX_TIME
            {
                let file = save(&input, seed);
                eprintln!(
                    "timed out after {MAX_TIME:?}: {}, seed {seed}",
                    file.display()
                );
                std::process::exit(1);
            }
        }
    });
}

fn save(input: &[u8], seed: u64) -> PathBuf {
    let folder = root().join("target/fuzz");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("failed-{seed}.bin"));
    fs::write(&file, input).unwrap();
    file
}

fn fail(reason: &str, input: &[u8], seed: u64) -> ! {
    let (file, bytes) = (save(input, seed), input.len());
    panic!("{reason}: {} ({bytes} bytes), seed {seed}", file.display());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn mutated_input_never_fails() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("CASEMENT_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
    let seconds = number("CASEMENT_FUZZ_SECONDS").unwrap_or(5);
    println!("seed {seed}, {seconds} s");
    start_watchdog(seed);
    let corpus = corpus();
    for input in &corpus {
        if let Some(reason) = failure(input) {
            fail(&reason, input, seed);
        }
    }
    let mut random = Random::new(seed);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut tried = 0_u64;
    while Instant::now() < until {
        let mut input = mutate::mutate(&corpus, &mut random);
        input.truncate(MAX_INPUT);
        if let Some(reason) = failure(&input) {
            fail(&reason, &input, seed);
        }
        tried += 1;
    }
    println!("{tried} inputs processed");
    assert!(tried > 0);
}

#[test]
fn harness_measures_memory_and_repeats_seeds() {
    MEMORY.reset();
    let much = vec![1_u8; MAX_MEMORY];
    assert!(MEMORY.peak() >= MAX_MEMORY);
    drop(much);
    MEMORY.reset();
    assert!(MEMORY.peak() < MAX_MEMORY);
    let corpus = corpus();
    let mutations = |seed| {
        let mut random = Random::new(seed);
        let all = (0..50).map(|_| mutate::mutate(&corpus, &mut random));
        all.collect::<Vec<_>>()
    };
    assert_eq!(mutations(1), mutations(1));
    assert_ne!(mutations(1), mutations(2));
    assert!(
        corpus
            .iter()
            .any(|input| load_bytes("c", input).cluster.is_some())
    );
}
