//! The pages of `casement explain`, and the table of rules.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_lint::{explain, pages, rules, table};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_table_is_current() {
    let path = docs().join("lints.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, table()).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        table(),
        "BLESS=1 updates it"
    );
}

#[test]
fn codes_are_well_formed_and_unique() {
    let mut seen = BTreeSet::new();
    for page in pages() {
        let parts: Vec<_> = page.code.split('-').collect();
        let [cas, area, number] = parts.as_slice() else {
            panic!("{}", page.code)
        };
        assert_eq!(*cas, "CAS");
        assert!(
            area.chars().all(|c| c.is_ascii_alphanumeric()),
            "{}",
            page.code
        );
        assert!(
            number.len() == 3 && number.parse::<u16>().is_ok(),
            "{}",
            page.code
        );
        assert!(seen.insert(page.code), "{} twice", page.code);
    }
}

#[test]
fn every_page_has_an_explanation_and_a_fix() {
    for page in pages() {
        let code = page.code;
        let heading = page.text.lines().next().unwrap();
        assert!(
            heading.starts_with(&format!("# {code}: ")),
            "{code}: {heading}"
        );
        assert!(page.text.contains("\n## How to fix\n"), "{code}");
        let words = page.text.split_whitespace().count();
        assert!(words >= 40, "{code} has {words} words");
        let wide = page.text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{code}");
    }
    for rule in rules() {
        let heading = format!("# {}: {}", rule.code, rule.title);
        assert_eq!(rule.page.lines().next(), Some(heading.as_str()));
    }
}

#[test]
fn every_file_in_the_directory_is_a_page() {
    let codes: BTreeSet<_> = pages().map(|page| format!("{}.md", page.code)).collect();
    for entry in fs::read_dir(docs().join("codes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name.starts_with("CAS-DOC-") || codes.contains(&name),
            "{name} does not belong to a code"
        );
    }
}

#[test]
fn every_load_code_has_a_page() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = ["source/src/codes.rs", "plan/src/unsupported.rs"].iter();
    let text: String = files
        .map(|file| fs::read_to_string(crates.join(file)).unwrap())
        .collect();
    let mut number = 0;
    for part in text.split("Code::new(\"").skip(1) {
        let code = part.split('"').next().unwrap();
        assert!(explain(code).is_ok(), "{code} has no page");
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
fn codes_are_case_insensitive_and_typos_get_a_suggestion() {
    assert_eq!(explain(" cas-net-020 ").unwrap().code, "CAS-NET-020");
    assert_eq!(explain("net-020").unwrap().code, "CAS-NET-020");
    assert_eq!(explain("CAS-NTE-020"), Err(Some("CAS-NET-020")));
    assert_eq!(explain("CAS-NET-02O"), Err(Some("CAS-NET-020")));
    assert_eq!(explain("colour"), Err(None));
}

#[test]
fn catalog_tables_in_pages_exist() {
    let mut number = 0;
    for page in pages() {
        let flat = page.text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in flat.split("casement catalog ").skip(1) {
            let name = part.split('`').next().unwrap();
            let known = casement_catalog::Topic::ALL
                .iter()
                .any(|topic| topic.name() == name);
            assert!(known, "{}: there is no table `{name}`", page.code);
            number += 1;
        }
    }
    assert!(number > 2);
}
