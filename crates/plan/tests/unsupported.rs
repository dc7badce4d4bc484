//! What `apply` says to every scenario that reads without an error.
//!
//! `apply.txt` holds the words; a scenario without one is carried out.
//! `BLESS=1 cargo test -p casement-plan --test unsupported` writes what it says now.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Diagnostic, Style, render_all, summary};
use casement_golden::Goldens;
use casement_plan::unsupported;
use casement_source::load_bytes;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(root()).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// What is refused, and how a person sees it; `None` for a file with errors.
fn refused(text: &[u8]) -> Option<(Vec<Diagnostic>, String)> {
    let loaded = load_bytes("cluster.yaml", text);
    let cluster = loaded.cluster?;
    let refusals = unsupported(&cluster, &|path| loaded.map.has(path));
    let shown = render_all(&refusals, Some(&loaded.map), Style::Plain);
    let shown = match summary(&refusals).as_str() {
        "" => String::new(),
        counts => format!("{shown}\n{counts}\n"),
    };
    Some((refusals, shown))
}

#[test]
fn apply_refuses_by_name_what_it_cannot_do() {
    let mut goldens = Goldens::named(root(), ["apply.txt"]);
    let mut refusing = 0;
    for folder in folders() {
        let Ok(text) = fs::read(folder.join("cluster.yaml")) else {
            continue;
        };
        let Some((_, says)) = refused(&text) else {
            continue;
        };
        if !says.is_empty() {
            let file = folder.join("apply.txt");
            goldens.add(file.strip_prefix(root()).unwrap(), says);
            refusing += 1;
        }
    }
    goldens.assert();
    assert!(refusing > 3, "only {refusing} scenarios are refused");
}

#[test]
fn every_refusal_has_a_code_a_remedy_and_a_place_in_the_file() {
    for folder in folders() {
        let Ok(text) = fs::read(folder.join("cluster.yaml")) else {
            continue;
        };
        for refusal in refused(&text).map(|(all, _)| all).unwrap_or_default() {
            let folder = folder.display();
            assert!(refusal.code.is_some(), "{folder}: {refusal:?}");
            assert!(refusal.help.is_some(), "{folder}: {refusal:?}");
            let shown = render_all(&[refusal], None, Style::Plain);
            assert!(shown.contains("spec"), "{folder}: {shown}");
        }
    }
}
