//! Mutations of a corpus, for as long as `CASEMENT_FUZZ_SECONDS` says (5).
//!
//! Blind to coverage, so that it needs no special compiler. Every input must be
//! answered: no panic, no answer that takes seconds, no memory that grows out of
//! proportion, and nothing that a caller would trip over afterwards. A failing
//! input is written to `target/fuzz/` and named with the seed;
//! `CASEMENT_FUZZ_SEED` repeats a run. The corpus is `crates/source/corpus/` and
//! every cluster file of `scenarios/` and `examples/`; what once failed is put
//! there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

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
use casement_source::{load, load_bytes, normalised, with_defaults};
use mutate::Random;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting::new();

/// An input is at most so long: room for what grows faster than its input.
const LONGEST: usize = 64 << 10;
/// An answer may take this many bytes beside those of the input.
const MOST_MEMORY: usize = 64 << 20;
/// Far more than any answer takes, on a machine that has other work too.
const MOST_TIME: Duration = Duration::from_secs(10);

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
    assert!(files.len() > 40, "the corpus is lost");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Everything that a caller does with an answer.
fn answer(input: &[u8]) {
    let loaded = load_bytes("cluster.yaml", input);
    assert_eq!(loaded.cluster.is_none(), has_errors(&loaded.diagnostics));
    render_all(&loaded.diagnostics, Some(&loaded.map), Style::Colour);
    json(&loaded.diagnostics, Some(&loaded.map));
    let Some(cluster) = loaded.cluster else {
        return;
    };
    for text in [
        normalised(&cluster, &loaded.map).unwrap(),
        with_defaults(&cluster, &loaded.map).unwrap(),
    ] {
        let again = load("cluster.yaml", &text);
        assert_eq!(again.cluster.as_ref(), Some(&cluster), "{text}");
    }
}

/// What is being answered, and since when.
static NOW: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// Why an input fails, if so.
fn fault(input: &[u8]) -> Option<String> {
    *NOW.lock().unwrap() = Some((Instant::now(), input.to_vec()));
    MEMORY.begin();
    let outcome = catch_unwind(|| answer(input));
    let memory = MEMORY.most();
    *NOW.lock().unwrap() = None;
    if outcome.is_err() {
        return Some("it panics".to_owned());
    }
    (memory > MOST_MEMORY).then(|| format!("it takes {memory} bytes"))
}

/// Ends the process when an answer does not come: it may never.
fn watch(seed: u64) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = NOW.lock().unwrap().clone();
            if let Some((since, input)) = now
                && since.elapsed() > MOST_TIME
            {
                let file = save(&input, seed);
                eprintln!(
                    "no answer after {MOST_TIME:?}: {}, seed {seed}",
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
fn every_mutation_is_answered() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("CASEMENT_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
    let seconds = number("CASEMENT_FUZZ_SECONDS").unwrap_or(5);
    println!("seed {seed}, {seconds} s");
    watch(seed);
    let corpus = corpus();
    for input in &corpus {
        if let Some(reason) = fault(input) {
            fail(&reason, input, seed);
        }
    }
    let mut random = Random::new(seed);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut tried = 0_u64;
    while Instant::now() < until {
        let mut input = mutate::mutate(&corpus, &mut random);
        input.truncate(LONGEST);
        if let Some(reason) = fault(&input) {
            fail(&reason, &input, seed);
        }
        tried += 1;
    }
    println!("{tried} inputs answered");
    assert!(tried > 0);
}

#[test]
fn the_harness_sees_what_it_looks_for() {
    MEMORY.begin();
    let much = vec![1_u8; MOST_MEMORY];
    assert!(MEMORY.most() >= MOST_MEMORY);
    drop(much);
    MEMORY.begin();
    assert!(MEMORY.most() < MOST_MEMORY);
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
