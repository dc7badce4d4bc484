//! The table of rules, and what their pages refer to.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use casement_diag::codes;
use casement_lint::{LOAD_CODES, rules, table};

#[test]
fn the_table_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lints.md");
    casement_golden::assert_file(path, table());
}

#[test]
fn codes_of_findings_are_listed_once() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = ["source/src/codes.rs", "plan/src/unsupported.rs"].iter();
    let text: String = files
        .map(|file| fs::read_to_string(crates.join(file)).unwrap())
        .collect();
    let load = LOAD_CODES.iter().map(|load| load.entry.code);
    let mut listed = BTreeSet::new();
    for code in rules().map(|rule| rule.code).chain(load) {
        assert!(listed.insert(code), "{code} twice");
    }
    let mut number = 0;
    for part in text.split("Code::new(\"").skip(1) {
        let code = part.split('"').next().unwrap();
        assert!(listed.contains(code), "{code} is not in the table");
        number += 1;
    }
    assert!(number > 15);
}

#[test]
fn every_known_failure_is_covered() {
    let mut covered = table();
    covered.retain(|c| c != '|');
    for number in (1..=5).chain(10..=54).chain(60..=73).chain(80..=90) {
        let entry = format!("L{number:03}");
        assert!(covered.contains(&entry), "{entry}");
    }
}

#[test]
fn catalog_tables_in_pages_exist() {
    let mut number = 0;
    for entry in codes::entries() {
        let flat = entry.page.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in flat.split("casement catalog ").skip(1) {
            // In backticks, or in a block of commands.
            let name = part.split(['`', ' ']).next().unwrap();
            let known = casement_catalog::Topic::ALL
                .iter()
                .any(|topic| topic.name() == name);
            assert!(known, "{}: there is no table `{name}`", entry.code);
            number += 1;
        }
    }
    assert!(number > 2);
}
