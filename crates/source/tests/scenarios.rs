//! Every folder of `scenarios/`: a cluster file, and what casement says about it.
//!
//! `BLESS=1 cargo test -p casement-source --test scenarios` writes what it says
//! now; the difference is for a person to read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Diagnostic, Severity, Source, Style, json, render_all, summary};
use casement_source::{Loaded, load, load_bytes, to_yaml};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("scenarios")).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    // Folders of folders are those of lint, which are tested where its rules are.
    folders.retain(|folder| folder.join("cluster.yaml").exists());
    folders.sort();
    folders
}

fn loaded(folder: &Path) -> Loaded {
    let file = folder.join("cluster.yaml");
    let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    load_bytes("cluster.yaml", &bytes)
}

fn shown(loaded: &Loaded) -> String {
    let mut text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
    let counts = summary(&loaded.diagnostics);
    text += &match counts.as_str() {
        "" => "no findings\n".to_owned(),
        counts => format!("\n{counts}\n"),
    };
    text
}

#[test]
fn every_scenario_says_what_is_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for folder in folders() {
        let says = shown(&loaded(&folder));
        let expected = folder.join("expected.txt");
        if bless {
            fs::write(&expected, &says).unwrap();
        }
        match fs::read_to_string(&expected) {
            Ok(text) if text == says => {}
            Ok(text) => wrong.push(format!(
                "{}: expected\n{text}\nbut it says\n{says}",
                folder.display()
            )),
            Err(error) => wrong.push(format!("{}: {error}", expected.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn there_is_a_cluster_unless_there_is_an_error() {
    for folder in folders() {
        let loaded = loaded(&folder);
        let error = |d: &Diagnostic| d.severity == Severity::Error;
        let errors = loaded.diagnostics.iter().any(error);
        assert_eq!(loaded.cluster.is_none(), errors, "{}", folder.display());
    }
}

#[test]
fn every_finding_has_a_code_and_every_error_a_remedy() {
    for folder in folders() {
        for finding in loaded(&folder).diagnostics {
            assert!(finding.code.is_some(), "{}: {finding:?}", folder.display());
            let remedy = finding.help.is_some() || finding.message.contains("KiB");
            assert!(remedy, "{}: {finding:?}", folder.display());
        }
    }
}

#[test]
fn messages_fit_a_screen() {
    for folder in folders() {
        for line in shown(&loaded(&folder)).lines() {
            assert!(line.chars().count() <= 140, "{}: {line}", folder.display());
        }
    }
}

#[test]
fn json_says_the_same() {
    for folder in folders() {
        let loaded = loaded(&folder);
        let value = json(&loaded.diagnostics, Some(&loaded.map));
        let back: Vec<Diagnostic> = serde_json::from_value(value).unwrap();
        assert_eq!(back, loaded.diagnostics, "{}", folder.display());
    }
}

#[test]
fn what_a_fix_leaves_behind_lacks_its_finding() {
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
fn a_cluster_reads_back_from_its_own_yaml() {
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
            shown(&again)
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
            assert!(loaded.cluster.is_some(), "{}", shown(&loaded));
            assert_eq!(loaded.diagnostics, [], "{}", path.display());
            number += 1;
        }
    }
    assert!(number > 0);
}
