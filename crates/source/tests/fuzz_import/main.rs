//! Fuzz test of the importers: no panic, no hang, and every draft is valid YAML.
//!
//! Not coverage-guided: every input is a file of `corpus/` with a few changes.
//! Runs for `CASEMENT_FUZZ_SECONDS` (default 5); `CASEMENT_SEED` repeats a run. An
//! input that takes more than ten seconds fails the test.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../ansible/random.rs"]
mod random;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use casement_source::import::{
    Draft, KubeInit, TextFile, ansible, from_inventory, from_kubeinit, from_script_args,
};
use casement_source::load;
use random::Random;

const CHARACTERS: &str = "[]{}:,=#&*!|>'\"\\%@-_.~ \t\r\n0123456789abcxfzABZ\u{e4}\u{2028}\u{0}";

struct Corpus {
    files: Vec<(String, String)>,
}

impl Corpus {
    fn load(kind: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fuzz_import/corpus")
            .join(kind);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(&path).unwrap())
            })
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{kind}");
        Self { files }
    }

    fn damaged(&self, random: &mut Random) -> (&str, String) {
        let (name, text) = &self.files[random.below(self.files.len())];
        let mut chars: Vec<char> = text.chars().collect();
        let characters: Vec<char> = CHARACTERS.chars().collect();
        for _ in 0..1 + random.below(5) {
            let at = random.below(chars.len() + 1);
            let end = (at + random.below(30)).min(chars.len());
            match random.below(5) {
                0 => drop(chars.drain(at..end)),
                1 => {
                    let part = chars[at..end].to_vec();
                    let to = random.below(chars.len() + 1);
                    chars.splice(to..to, part);
                }
                2 if end > at => chars[at] = characters[random.below(characters.len())],
                _ => {
                    let new: Vec<_> = (0..1 + random.below(3))
                        .map(|_| characters[random.below(characters.len())])
                        .collect();
                    chars.splice(at..at, new);
                }
            }
        }
        (name, chars.into_iter().collect())
    }
}

/// A draft may have invalid values, but must be valid YAML.
fn check_syntax(draft: &Draft) {
    let loaded = load("cluster.yaml", &draft.text);
    let syntax_error = loaded.diagnostics.iter().find(|finding| {
        let code = finding.code.as_ref().map(|code| code.as_str());
        matches!(code, Some("CAS-SPEC-001" | "CAS-SPEC-004" | "CAS-SPEC-005"))
    });
    assert!(syntax_error.is_none(), "{syntax_error:?}\n{}", draft.text);
}

fn inventory(name: &str, text: &str) {
    let file = TextFile::new(name, text);
    let variables = TextFile::new("group_vars/all.yml", text);
    for files in [vec![file.clone()], vec![file, variables]] {
        if let Some(inventory) = ansible::read(&files).inventory {
            check_syntax(&from_inventory(name, &inventory));
        }
    }
}

fn kubeinit(text: &str) {
    let mut lines = text.lines();
    let options = KubeInit {
        spec: lines.next().unwrap_or_default(),
        nodes: lines.next(),
        hypervisors: lines.next(),
        network: lines.next(),
        cluster: lines.next(),
    };
    if let Ok(draft) = from_kubeinit(&options) {
        check_syntax(&draft);
    }
}

#[test]
fn damaged_input_never_fails() {
    let mut random = Random::from_environment();
    let seconds = env::var("CASEMENT_FUZZ_SECONDS").map_or(5, |text| text.parse().unwrap());
    let corpora = [
        Corpus::load("inventory"),
        Corpus::load("kubeinit"),
        Corpus::load("script"),
    ];
    let [inventories, specs, arguments] = &corpora;
    let started = Instant::now();
    let mut number = 0_u64;
    while started.elapsed() < Duration::from_secs(seconds) || number < 100 {
        let start = Instant::now();
        let (name, text) = match random.below(4) {
            0 => specs.damaged(&mut random),
            1 => arguments.damaged(&mut random),
            _ => inventories.damaged(&mut random),
        };
        let description = format!("input {number}, {name}:\n{text}");
        let done = std::panic::catch_unwind(|| match name {
            "all.txt" => drop(from_script_args(&text).map(|draft| check_syntax(&draft))),
            name if name.ends_with(".txt") => kubeinit(&text),
            name => inventory(name, &text),
        });
        assert!(done.is_ok(), "{description}");
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "timed out\n{description}"
        );
        number += 1;
    }
    println!("{number} inputs in {:.0?}", started.elapsed());
}
