//! The diagnostics of each cluster file in `scenarios/`.
//!
//! `BLESS=1 cargo test -p casement-source --test scenarios` updates the expected
//! output; review the diff.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Diagnostic, Severity, Source, Style, json, render_all, summary};
use casement_golden::Goldens;
use casement_source::{Loaded, load, load_bytes, to_yaml};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("scenarios")).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    // Nested directories belong to the tests of the lint crate.
    folders.retain(|folder| folder.join("cluster.yaml").exists());
    folders.sort();
    folders
}

fn loaded(folder: &Path) -> Loaded {
    let file = folder.join("cluster.yaml");
    let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    load_bytes("cluster.yaml", &bytes)
}

fn rendered(loaded: &Loaded) -> String {
    let mut text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
    let counts = summary(&loaded.diagnostics);
    text += &match counts.as_str() {
        "" => "no findings\n".to_owned(),
        counts => format!("\n{counts}\n"),
    };
    text
}

#[test]
fn diagnostics_match_expected_output() {
    let mut goldens = Goldens::named(root().join("scenarios"), ["expected.txt"]);
    // Nested directories belong to the tests of the lint crate.
    goldens.exclude("lints");
    for folder in folders() {
        let file = folder.join("expected.txt");
        let file = file.strip_prefix(root().join("scenarios")).unwrap();
        goldens.add(file, rendered(&loaded(&folder)));
    }
    goldens.assert();
}

#[test]
fn cluster_is_returned_unless_there_is_an_error() {
    for folder in folders() {
        let loaded = loaded(&folder);
        let error = |d: &Diagnostic| d.severity == Severity::Error;
        let errors = loaded.diagnostics.iter().any(error);
        assert_eq!(loaded.cluster.is_none(), errors, "{}", folder.display());
    }
}

#[test]
fn every_finding_has_a_code_and_help() {
    for folder in folders() {
        for finding in loaded(&folder).diagnostics {
            assert!(finding.code.is_some(), "{}: {finding:?}", folder.display());
            let help = finding.help.is_some() || finding.message.contains("KiB");
            assert!(help, "{}: {finding:?}", folder.display());
        }
    }
}

#[test]
fn lines_are_at_most_140_characters_wide() {
    for folder in folders() {
        for line in rendered(&loaded(&folder)).lines() {
            assert!(line.chars().count() <= 140, "{}: {line}", folder.display());
        }
    }
}

#[test]
fn json_round_trips() {
    for folder in folders() {
        let loaded = loaded(&folder);
        let value = json(&loaded.diagnostics, Some(&loaded.map));
        let back: Vec<Diagnostic> = serde_json::from_value(value).unwrap();
        assert_eq!(back, loaded.diagnostics, "{}", folder.display());
    }
}

#[test]
fn fixes_remove_their_findings() {
    let mut fixes = 0;
    for folder in folders() {
        let before = loaded(&folder);
        let Ok(mut text) = fs::read_to_string(folder.join("cluster.yaml")) else {
            continue;
        };
        let finding = before.diagnostics.iter().find(|d| d.fix.is_some());
        let Some((finding, fix)) = finding.and_then(|d| Some((d, d.fix.as_ref()?))) else {
            continue;
        };
        for edit in &fix.edits {
            let range = before.map.range(&edit.path, &edit.part).unwrap();
            text.replace_range(range, &edit.replacement);
        }
        let after = load("cluster.yaml", &text);
        let folder = folder.display();
        assert!(!after.diagnostics.contains(finding), "{folder}: {text}");
        fixes += 1;
    }
    assert!(fixes > 3, "only {fixes} scenarios have a fix");
}

#[test]
fn cluster_round_trips_through_yaml() {
    let mut clusters = BTreeSet::new();
    for folder in folders() {
        let Some(cluster) = loaded(&folder).cluster else {
            continue;
        };
        let yaml = to_yaml(&cluster).unwrap();
        let again = load("again.yaml", &yaml);
        assert_eq!(
            again.cluster.as_ref(),
            Some(&cluster),
            "{yaml}\n{}",
            rendered(&again)
        );
        clusters.insert(folder);
    }
    assert!(clusters.len() > 1);
}

#[test]
fn examples_have_no_findings() {
    let mut number = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let text = fs::read_to_string(&path).unwrap();
            let loaded = load("cluster.yaml", &text);
            assert!(loaded.cluster.is_some(), "{}", rendered(&loaded));
            assert_eq!(loaded.diagnostics, [], "{}", path.display());
            number += 1;
        }
    }
    assert!(number > 0);
}
