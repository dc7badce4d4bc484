//! The pages in `docs/codes`, and the codes in the source of all crates: each has the other.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::codes::{self, Entry};

mod source_codes;

/// What the codes of an area are about.
const AREAS: [(&str, &str); 31] = [
    ("ACC", "access to hosts in the cluster file"),
    ("API", "the Kubernetes API"),
    ("CAL", "Calico"),
    ("CNI", "CNI configurations"),
    ("CTL", "the command line and its access to hosts"),
    ("DEMO", "`casement demo`"),
    ("DOC", "findings of `casement doctor`"),
    ("FILE", "files that casement reads and writes"),
    ("FIT", "whether a cluster accepts the Windows nodes"),
    ("HOST", "hosts in the cluster file"),
    ("IMG", "images, and containerd's configuration"),
    (
        "IMPORT",
        "inventories and specs that `casement init` imports",
    ),
    ("INIT", "`casement init`"),
    ("JOIN", "joining hosts"),
    ("KLT", "the kubelet's configuration"),
    ("LAB", "`casement lab`"),
    ("LOCK", "downloads and the lock file"),
    ("NET", "networks in the cluster file"),
    ("NODE", "the agent on a host"),
    ("OUT", "output formats"),
    ("PLAN", "planning"),
    ("POD", "pods and workloads"),
    ("PRX", "kube-proxy and Services"),
    ("REM", "connections over WinRM"),
    ("RENDER", "`casement render`"),
    ("RUN", "runs"),
    ("SCR", "scripts"),
    ("SMP", "`casement sample`"),
    ("SPEC", "fields of the cluster file"),
    ("SSH", "connections over SSH, and the agent's delivery"),
    ("VER", "versions of Kubernetes, Windows and other programs"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn area(entry: &Entry) -> &'static str {
    entry.code.split('-').nth(1).unwrap()
}

#[test]
fn every_code_in_the_source_has_a_page() {
    let pages: BTreeSet<_> = codes::entries().iter().map(|entry| entry.code).collect();
    let mut missing = source_codes::of_all_crates(&root());
    assert!(missing.len() > 300, "found only {}", missing.len());
    missing.retain(|code, _| !pages.contains(code.as_str()));
    assert!(
        missing.is_empty(),
        "write docs/codes/<CODE>.md for {missing:#?}"
    );
}

#[test]
fn every_page_has_a_code_in_the_source() {
    let used = source_codes::of_all_crates(&root());
    let unused = codes::entries().iter().map(|entry| entry.code);
    let unused: Vec<_> = unused.filter(|code| !used.contains_key(*code)).collect();
    assert!(unused.is_empty(), "remove the pages of {unused:?}");
}

#[test]
fn every_page_has_a_heading_a_cause_and_a_fix() {
    for entry in codes::entries() {
        let Entry { code, title, page } = *entry;
        let heading = page.lines().next().unwrap();
        assert_eq!(heading, format!("# {code}: {title}"));
        assert_eq!(title.trim(), title, "{code}");
        assert!(!title.ends_with('.'), "{code}: {title}");
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(headings, [heading, "## How to fix"], "{code}");
        assert!(
            !entry.cause().is_empty() && !entry.help().is_empty(),
            "{code}"
        );
        let words = page.split_whitespace().count();
        assert!(words >= 40, "{code} has {words} words");
        let wide = page.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{code}");
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "{code}");
    }
}

#[test]
fn codes_are_well_formed_and_unique() {
    let mut seen = BTreeSet::new();
    for entry in codes::entries() {
        let code = entry.code;
        assert!(source_codes::is_well_formed(code), "{code}");
        assert!(seen.insert(code), "{code} twice");
        let known = AREAS.iter().any(|(name, _)| *name == area(entry));
        assert!(known, "describe the area of {code} in {}", file!());
    }
}

#[test]
fn every_file_in_the_directory_is_a_page() {
    let codes: BTreeSet<_> = codes::entries()
        .iter()
        .map(|entry| format!("{}.md", entry.code))
        .collect();
    for file in fs::read_dir(root().join("docs/codes")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || codes.contains(&name),
            "{name} does not belong to a code"
        );
    }
}

#[test]
fn the_table_of_codes_is_current() {
    let path = root().join("docs/codes/README.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, table()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == table(),
        "docs/codes/README.md: BLESS=1 updates it"
    );
}

const HEAD: &str = "\
# Error codes

Every error and every finding of casement has a code, and every code has a page:
`casement explain CODE` prints it. [Lint rules](../lints.md) lists what `casement lint`
checks.

A host that casement cannot connect to is reported with the code of the connection
error (`CAS-SSH-…`, `CAS-REM-…`), also by `casement doctor`. If one failure causes
others, doctor reports only the root cause.

A test generates this file: `BLESS=1 cargo test -p casement-diag --test codes`.
";

/// All codes by area.
fn table() -> String {
    let mut text = HEAD.to_owned();
    for (name, about) in AREAS {
        let entries = codes::entries().iter();
        let mut entries = entries.filter(|entry| area(entry) == name).peekable();
        if entries.peek().is_some() {
            let _ = writeln!(
                text,
                "\n## {name}: {about}\n\n| code | title |\n| --- | --- |"
            );
        }
        for Entry { code, title, .. } in entries {
            let _ = writeln!(
                text,
                "| [{code}]({code}.md) | {} |",
                title.replace('|', "\\|")
            );
        }
    }
    text
}

#[test]
fn entries_are_found_in_any_case_with_or_without_the_prefix() {
    for (written, code) in [
        (" cas-net-020 ", "CAS-NET-020"),
        ("net-020", "CAS-NET-020"),
        ("cas-doc-006", "CAS-DOC-006"),
        ("CAS-SPEC-010", "CAS-SPEC-010"),
    ] {
        assert_eq!(codes::entry(written).map(|entry| entry.code), Some(code));
    }
    for unknown in ["CAS-DOC-999", "", "CAS-", "colour"] {
        assert_eq!(codes::entry(unknown), None, "{unknown}");
    }
}

#[test]
fn typos_get_a_suggestion() {
    assert_eq!(codes::closest("CAS-NTE-020"), Some("CAS-NET-020"));
    assert_eq!(codes::closest("CAS-NET-02O"), Some("CAS-NET-020"));
    assert_eq!(codes::closest("nte-020"), Some("CAS-NET-020"));
    assert_eq!(codes::closest("casnet020"), Some("CAS-NET-020"));
    assert_eq!(codes::closest("colour"), None);
    assert_eq!(codes::closest(""), None);
    assert_eq!(codes::closest(&"a".repeat(100_000)), None);
}
