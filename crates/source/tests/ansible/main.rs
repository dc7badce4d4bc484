//! Compares our inventory parser with ansible-core.
//!
//! Random inventories (`CASEMENT_SEED` repeats a run) are parsed by
//! [`casement_source::import::ansible`] and by ansible-core, in one Python process
//! that calls the code of `ansible-inventory --list` and `--list --export`
//! (`driver.py`). Hosts, groups, their order, all variables and rejections must be
//! the same. The only exception are values that we do not support
//! (`CAS-IMPORT-006`); these are counted.

#![allow(clippy::unwrap_used, reason = "test code")]

mod generate;
mod listing;
mod random;
mod tool;

use casement_diag::{Severity, Style, render};
use casement_source::import::TextFile;
use casement_source::import::ansible::{self, InventoryResult};
use random::Random;
use serde_json::Value;

const NUMBER: usize = 400;

fn rendered(reading: &InventoryResult, files: &[TextFile]) -> String {
    let findings = reading.findings.iter().map(|found| {
        let source = files.get(found.file).unwrap().masked();
        render(&found.diagnostic, Some(&source), Style::Plain)
    });
    findings.collect()
}

/// Whether all errors are about unsupported values.
fn unsupported_only(reading: &InventoryResult) -> bool {
    let errors = reading.findings.iter().map(|found| &found.diagnostic);
    let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
    let code = |code: &casement_diag::Code| code.as_str() == "CAS-IMPORT-006";
    reading.inventory.is_none() && errors.all(|finding| finding.code.as_ref().is_some_and(code))
}

/// A description of the difference, if any.
fn difference(files: &[TextFile], theirs: &Value) -> Option<String> {
    let reading = ansible::read(files);
    let failed = theirs.get("error").and_then(Value::as_str);
    match (&reading.inventory, failed) {
        (None, Some(_)) => None,
        (None, None) => Some(format!(
            "rejected only by us:\n{}",
            rendered(&reading, files)
        )),
        (Some(_), Some(error)) => Some(format!("rejected only by Ansible:\n{error}")),
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
fn parser_matches_ansible() {
    let mut random = Random::from_environment();
    let inventories: Vec<_> = (0..NUMBER)
        .map(|number| generate::inventory(&mut random, number))
        .collect();
    let listings = tool::list(&inventories);
    assert_eq!(listings.len(), inventories.len());
    let (mut wrong, mut accepted, mut neither, mut refusals) = (Vec::new(), 0, 0, 0);
    for (number, (files, theirs)) in inventories.iter().zip(&listings).enumerate() {
        let Some(difference) = difference(files, theirs) else {
            match theirs.get("error") {
                None => accepted += 1,
                Some(_) => neither += 1,
            }
            continue;
        };
        if unsupported_only(&ansible::read(files)) {
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
        "{accepted} equal, {neither} rejected by both, {refusals} only by us, {number} different"
    );
    wrong.truncate(3);
    assert!(wrong.is_empty(), "{number} differ\n{}", wrong.join("\n\n"));
    assert!(accepted >= 300, "only {accepted} of {NUMBER} were accepted");
    assert!(
        refusals <= NUMBER / 20,
        "{refusals} are rejected only by us"
    );
}
