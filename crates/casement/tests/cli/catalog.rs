//! `casement catalog`, as a person calls it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::{Command, Output};

use serde_json::Value;

fn catalog(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
    command.arg("catalog").args(words).output().unwrap()
}

fn printed(words: &[&str]) -> String {
    let output = catalog(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn topics() -> Vec<String> {
    let rows: Vec<Value> = serde_json::from_str(&printed(&["-o", "json"])).unwrap();
    let name = |row: &Value| row["topic"].as_str().unwrap().to_owned();
    rows.iter().map(name).collect()
}

#[test]
fn every_topic_is_printed_in_every_form_with_its_sources() {
    let topics = topics();
    assert!(topics.len() >= 10, "{topics:?}");
    for topic in &topics {
        let table = printed(&[topic]);
        let head = table.lines().next().unwrap();
        assert!(head.ends_with("SOURCE"), "{topic}: {head}");
        let rows: Vec<Value> = serde_json::from_str(&printed(&[topic, "-o", "json"])).unwrap();
        assert_eq!(rows.len() + 1, table.lines().count(), "{topic}");
        for row in &rows {
            assert!(
                !row["source"].as_str().unwrap().is_empty(),
                "{topic}: {row}"
            );
        }
        let yaml = printed(&[topic, "-o", "yaml"]);
        let count = yaml.lines().filter(|line| line.starts_with("- ")).count();
        assert_eq!(count, rows.len(), "{topic}");
    }
}

#[test]
fn a_topic_that_is_not_there_is_answered_with_those_that_are() {
    let output = catalog(&["paus"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    for word in ["'paus'", "similar value exists: 'pause'", "containerd"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let program = env!("CARGO_BIN_EXE_casement");
    let pipe = format!("set -o pipefail; '{program}' catalog gates | head -n 1");
    let output = Command::new("bash").args(["-c", &pipe]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
