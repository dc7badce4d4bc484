//! Our reading of inventories against Ansible's own.
//!
//! Inventories are made up (`CASEMENT_SEED` repeats a run), written to a folder
//! and read twice: by [`casement_source::import::ansible`], and by ansible-core
//! in one Python process that calls the code behind `ansible-inventory --list`
//! and `--list --export` (`driver.py`). Hosts, groups, their order and
//! all variables must be the same, and what one refuses the other must refuse.
//! The only difference allowed is a value that we refuse by name
//! (`CAS-IMPORT-006`); those are counted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod generate;
mod listing;
mod random;
mod tool;

use casement_diag::{Severity, Style, render};
use casement_source::import::TextFile;
use casement_source::import::ansible::{self, Reading};
use random::Random;
use serde_json::Value;

const NUMBER: usize = 400;

fn shown(reading: &Reading, files: &[TextFile]) -> String {
    let findings = reading.findings.iter().map(|found| {
        let source = files.get(found.file).unwrap().shown();
        render(&found.diagnostic, Some(&source), Style::Plain)
    });
    findings.collect()
}

/// Whether everything that stops us is a value that we refuse by name.
fn refused(reading: &Reading) -> bool {
    let errors = reading.findings.iter().map(|found| &found.diagnostic);
    let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
    let code = |code: &casement_diag::Code| code.as_str() == "CAS-IMPORT-006";
    reading.inventory.is_none() && errors.all(|finding| finding.code.as_ref().is_some_and(code))
}

/// What differs, in words; `None` where nothing does.
fn difference(files: &[TextFile], theirs: &Value) -> Option<String> {
    let reading = ansible::read(files);
    let failed = theirs.get("error").and_then(Value::as_str);
    match (&reading.inventory, failed) {
        (None, Some(_)) => None,
        (None, None) => Some(format!("only we refuse it:\n{}", shown(&reading, files))),
        (Some(_), Some(error)) => Some(format!("only Ansible refuses it:\n{error}")),
        (Some(inventory), None) => {
            let ours = [
                ("list", listing::list(inventory)),
                ("export", listing::export(inventory)),
            ];
            ours.into_iter().find_map(|(kind, ours)| {
                let theirs = theirs.get(kind).unwrap();
                (ours != *theirs).then(|| listing::difference(kind, &ours, theirs))
            })
        }
    }
}

#[test]
#[ignore = "needs python3 with venv, and PyPI the first time"]
fn our_reading_is_ansibles() {
    let mut random = Random::from_environment();
    let inventories: Vec<_> = (0..NUMBER)
        .map(|number| generate::inventory(&mut random, number))
        .collect();
    let answers = tool::ask(&inventories);
    assert_eq!(answers.len(), inventories.len());
    let (mut wrong, mut accepted, mut neither, mut refusals) = (Vec::new(), 0, 0, 0);
    for (number, (files, theirs)) in inventories.iter().zip(&answers).enumerate() {
        let Some(difference) = difference(files, theirs) else {
            match theirs.get("error") {
                None => accepted += 1,
                Some(_) => neither += 1,
            }
            continue;
        };
        if refused(&ansible::read(files)) {
            refusals += 1;
            continue;
        }
        let text: String = files
            .iter()
            .map(|file| format!("--- {}\n{}\n", file.name, file.text))
            .collect();
        wrong.push(format!("inventory {number}: {difference}\n{text}"));
    }
    let number = wrong.len();
    println!(
        "{accepted} read alike, {neither} refused by both, {refusals} by us alone, {number} wrong"
    );
    wrong.truncate(3);
    assert!(wrong.is_empty(), "{number} differ\n{}", wrong.join("\n\n"));
    assert!(
        accepted >= 300,
        "only {accepted} of {NUMBER} were read at all"
    );
    assert!(
        refusals <= NUMBER / 20,
        "{refusals} are refused by us alone"
    );
}
