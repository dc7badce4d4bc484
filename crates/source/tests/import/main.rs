//! Each directory here: an inventory, the resulting cluster file, the notes about
//! the import, and the findings of the cluster file.
//!
//! `BLESS=1 cargo test -p casement-source --test import` updates the expected
//! output; review the diff.

#![allow(clippy::unwrap_used, reason = "test code")]

mod drafts;
mod kubeinit;
mod large;

use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Style, render};
use casement_golden::Goldens;
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

/// The inventory of a directory, with `group_vars` and `host_vars`.
fn files(folder: &Path) -> Vec<TextFile> {
    fn collect(folder: &Path, base: &Path, files: &mut Vec<TextFile>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, base, files);
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
            collect(&folder.join(below), folder, &mut files);
        }
    }
    files
}

fn draft(folder: &Path) -> (Draft, String) {
    let files = files(folder);
    let reading = ansible::read(&files);
    let findings = reading.findings.iter().map(|found| {
        let source = files.get(found.file).unwrap().masked();
        render(&found.diagnostic, Some(&source), Style::Plain)
    });
    let findings: String = findings.collect();
    let inventory = reading.inventory.unwrap_or_else(|| panic!("{findings}"));
    (
        from_inventory(&files.first().unwrap().name, &inventory),
        findings,
    )
}

fn notes_text(draft: &Draft, findings: &str) -> String {
    let notes = draft.notes.iter().map(|note| {
        let location = note
            .location
            .as_ref()
            .map(|location| format!("{location}: "));
        format!(
            "{:?}: {}{}\n",
            note.kind,
            location.unwrap_or_default(),
            note.text
        )
    });
    format!("{findings}{}", notes.collect::<String>())
}

#[test]
fn drafts_match_expected_output() {
    let names = ["expected.yaml", "expected.txt", "expected-findings.txt"];
    let mut goldens = Goldens::named(root(), names);
    let mut number = 0;
    for folder in folders() {
        let (draft, findings) = draft(&folder);
        for (name, text) in [
            ("expected.yaml", draft.text.clone()),
            ("expected.txt", notes_text(&draft, &findings)),
            ("expected-findings.txt", drafts::findings(&draft.text)),
        ] {
            let path = folder.join(name);
            goldens.add(path.strip_prefix(root()).unwrap(), text);
            number += 1;
        }
    }
    goldens.assert();
    assert!(number >= 12);
}

#[test]
fn secrets_are_never_copied() {
    let secrets = [
        "fixture-winrm-pw",
        "fixture-choco-pw",
        "fixture-sudo-pw",
        "fixture-ssh-pw",
    ];
    let mut all_files = String::new();
    for folder in folders() {
        let (draft, findings) = draft(&folder);
        let output = format!(
            "{}{}{:?}",
            draft.text,
            notes_text(&draft, &findings),
            ansible::read(&files(&folder))
        );
        for secret in secrets {
            assert!(!output.contains(secret), "{}: {output}", folder.display());
        }
        all_files.extend(files(&folder).into_iter().map(|file| file.text));
    }
    for secret in secrets {
        assert!(all_files.contains(secret), "no fixture has {secret}");
    }
}

#[test]
fn every_variable_is_imported_or_listed() {
    for folder in folders() {
        let files = files(&folder);
        let inventory = ansible::read(&files).inventory.unwrap();
        let (draft, _) = draft(&folder);
        for (name, location) in inventory.all_variables() {
            let location = location.to_string();
            let listed = draft.text.lines().any(|line| line.contains(&location))
                || draft.notes.iter().any(|note| {
                    note.location
                        .as_ref()
                        .is_some_and(|p| p.to_string() == location)
                });
            assert!(
                listed,
                "{}: {name} at {location} is missing\n{}",
                folder.display(),
                draft.text
            );
        }
    }
}
