//! `casement catalog`.

use std::process::{Command, Output};

use serde_json::Value;

use crate::json_output::assert_documented;

fn catalog(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
    command.arg("catalog").args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = catalog(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of a document, and its topic.
fn rows(args: &[&str]) -> (Value, Vec<Value>) {
    let text = stdout(&[args, &["-o", "json"]].concat());
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_documented(&document, "Catalog");
    let rows = document["rows"].as_array().unwrap().clone();
    (document["topic"].clone(), rows)
}

fn topics() -> Vec<String> {
    let (topic, rows) = rows(&[]);
    assert_eq!(topic, Value::Null);
    let name = |row: &Value| row["topic"].as_str().unwrap().to_owned();
    rows.iter().map(name).collect()
}

#[test]
fn every_topic_has_sources_in_every_output_format() {
    let topics = topics();
    assert!(topics.len() >= 10, "{topics:?}");
    for topic in &topics {
        let table = stdout(&[topic]);
        let head = table.lines().next().unwrap();
        assert!(head.ends_with("SOURCE"), "{topic}: {head}");
        let (named, rows) = rows(&[topic]);
        assert_eq!(named, topic.as_str());
        assert_eq!(rows.len() + 1, table.lines().count(), "{topic}");
        for row in &rows {
            assert!(
                !row["source"].as_str().unwrap().is_empty(),
                "{topic}: {row}"
            );
        }
        let yaml = stdout(&[topic, "-o", "yaml"]);
        let items = yaml.lines().map(str::trim_start);
        let count = items.filter(|line| line.starts_with("- ")).count();
        assert_eq!(count, rows.len(), "{topic}");
        assert!(yaml.contains("kind: Catalog\n"), "{topic}: {yaml}");
    }
}

#[test]
fn unknown_topic_lists_the_known_ones() {
    let output = catalog(&["paus"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    for part in ["'paus'", "similar value exists: 'pause'", "containerd"] {
        assert!(stderr.contains(part), "`{part}` is not in: {stderr}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let program = env!("CARGO_BIN_EXE_casement");
    let pipe = format!("set -o pipefail; '{program}' catalog gates | head -n 1");
    let output = Command::new("bash").args(["-c", &pipe]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
