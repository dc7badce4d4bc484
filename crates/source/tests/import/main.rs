//! Every folder here: an inventory, the cluster file that it becomes, what is
//! told about it, and what is wrong with that file.
//!
//! `BLESS=1 cargo test -p casement-source --test import` writes what comes out
//! now; the difference is for a person to read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod drafts;
mod kubeinit;
mod large;

use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Style, render};
use casement_source::import::{Draft, TextFile, ansible, from_inventory};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import")
}

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(root()).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The inventory of a folder, and what lies beside it.
fn files(folder: &Path) -> Vec<TextFile> {
    fn walk(folder: &Path, base: &Path, files: &mut Vec<TextFile>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, base, files);
                continue;
            }
            let name = path.strip_prefix(base).unwrap().display().to_string();
            files.push(TextFile::new(name, fs::read_to_string(&path).unwrap()));
        }
    }
    let mut files = Vec::new();
    for name in ["hosts", "hosts.ini", "hosts.yml"] {
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            files.push(TextFile::new(name, text));
        }
    }
    assert_eq!(files.len(), 1, "{}", folder.display());
    for below in ["group_vars", "host_vars"] {
        if folder.join(below).is_dir() {
            walk(&folder.join(below), folder, &mut files);
        }
    }
    files
}

fn draft(folder: &Path) -> (Draft, String) {
    let files = files(folder);
    let reading = ansible::read(&files);
    let findings = reading.findings.iter().map(|found| {
        let source = files.get(found.file).unwrap().shown();
        render(&found.diagnostic, Some(&source), Style::Plain)
    });
    let findings: String = findings.collect();
    let inventory = reading.inventory.unwrap_or_else(|| panic!("{findings}"));
    (
        from_inventory(&files.first().unwrap().name, &inventory),
        findings,
    )
}

fn told(draft: &Draft, findings: &str) -> String {
    let notes = draft.notes.iter().map(|note| {
        let place = note.place.as_ref().map(|place| format!("{place}: "));
        format!(
            "{:?}: {}{}\n",
            note.kind,
            place.unwrap_or_default(),
            note.text
        )
    });
    format!("{findings}{}", notes.collect::<String>())
}

#[test]
fn every_inventory_becomes_what_is_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let mut number = 0;
    for folder in folders() {
        let (draft, findings) = draft(&folder);
        for (name, text) in [
            ("expected.yaml", draft.text.clone()),
            ("expected.txt", told(&draft, &findings)),
            ("expected-findings.txt", drafts::findings(&draft.text)),
        ] {
            let path = folder.join(name);
            if bless {
                fs::write(&path, &text).unwrap();
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            if expected != text {
                wrong.push(format!(
                    "{}: expected\n{expected}\nbut it is\n{text}",
                    path.display()
                ));
            }
            number += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(number >= 12);
}

#[test]
fn no_secret_leaves_an_inventory() {
    let secrets = [
        "fixture-winrm-pw",
        "fixture-choco-pw",
        "fixture-sudo-pw",
        "fixture-ssh-pw",
    ];
    let mut all_files = String::new();
    for folder in folders() {
        let (draft, findings) = draft(&folder);
        let seen = format!(
            "{}{}{:?}",
            draft.text,
            told(&draft, &findings),
            ansible::read(&files(&folder))
        );
        for secret in secrets {
            assert!(!seen.contains(secret), "{}: {seen}", folder.display());
        }
        all_files.extend(files(&folder).into_iter().map(|file| file.text));
    }
    for secret in secrets {
        assert!(all_files.contains(secret), "no fixture has {secret}");
    }
}

#[test]
fn every_variable_is_carried_over_or_listed() {
    for folder in folders() {
        let files = files(&folder);
        let inventory = ansible::read(&files).inventory.unwrap();
        let (draft, _) = draft(&folder);
        for (name, place) in inventory.all_variables() {
            let place = place.to_string();
            let said = draft.text.lines().any(|line| line.contains(&place))
                || draft
                    .notes
                    .iter()
                    .any(|note| note.place.as_ref().is_some_and(|p| p.to_string() == place));
            assert!(
                said,
                "{}: {name} at {place} is nowhere\n{}",
                folder.display(),
                draft.text
            );
        }
    }
}
