//! Hostile input is rejected quickly and with a diagnostic.

use casement_diag::{Severity, Style, has_errors, json, render_all};
use casement_source::{Loaded, MAX_BYTES, load, load_bytes};
use proptest::prelude::*;

const GOOD: &str = include_str!("../../../scenarios/lab/cluster.yaml");

/// Renders all diagnostics as text and JSON.
fn rendered(loaded: &Loaded) -> String {
    assert_eq!(loaded.cluster.is_none(), has_errors(&loaded.diagnostics));
    let text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
    let value = json(&loaded.diagnostics, Some(&loaded.map));
    format!("{text}{value}")
}

fn code(text: &str) -> String {
    let loaded = load("cluster.yaml", text);
    rendered(&loaded);
    let first = loaded.diagnostics.first();
    let code = first.and_then(|finding| finding.code.clone());
    code.map(|code| code.to_string()).unwrap_or_default()
}

#[test]
fn large_files_are_rejected() {
    assert_eq!(code(&"a".repeat(MAX_BYTES + 1)), "CAS-SPEC-003");
    let loaded = load_bytes("cluster.yaml", &vec![0xff; 100 << 20]);
    assert!(rendered(&loaded).contains("CAS-SPEC-003"));
}

#[test]
fn deeply_nested_files_are_rejected() {
    let balanced = format!("{}{}", "[".repeat(70), "]".repeat(70));
    assert_eq!(code(&balanced), "CAS-SPEC-003");
    assert_eq!(code(&"- ".repeat(70)), "CAS-SPEC-003");
    let balanced = format!("{}{}", "{a: ".repeat(70), "}".repeat(70));
    assert_eq!(code(&balanced), "CAS-SPEC-003");
    assert!(!code(&"[".repeat(500_000)).is_empty());
    assert!(!code(&"a:\n ".repeat(100_000)).is_empty());
}

#[test]
fn aliases_are_rejected() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{below}]\n");
    }
    assert_eq!(code(&bomb), "CAS-SPEC-005");
    assert_eq!(code("a: *nothing\n"), "CAS-SPEC-005");
    assert_eq!(code("a: !!str b\n"), "CAS-SPEC-005");
    assert_eq!(code("[a, b]: c\n"), "CAS-SPEC-005");
}

#[test]
fn too_many_values_are_rejected() {
    let most = "a,".repeat(MAX_BYTES / 2 - 10);
    assert_eq!(code(&format!("[{most}]")), "CAS-SPEC-003");
}

#[test]
fn ten_thousand_hosts_are_accepted() {
    let mut text =
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {name: big}\nspec:\n  \
        kubernetes: {version: 1.36.3, podCidr: 10.0.0.0/8, serviceCidr: 172.20.0.0/16}\n  \
        existing: {kubeconfig: ./admin.conf}\n  network: {mode: flannel-overlay}\n  hosts:\n"
            .to_owned();
    for number in 0..10_000 {
        let (high, low) = (number / 250, number % 250 + 1);
        text += &format!(
            "  - {{name: win{number}, address: 192.168.{high}.{low}, os: windows-2022}}\n"
        );
    }
    let loaded = load("cluster.yaml", &text);
    let hosts = loaded.cluster.map(|cluster| cluster.spec.hosts.len());
    assert_eq!(hosts, Some(10_000), "{:?}", loaded.diagnostics.first());
    assert_eq!(loaded.diagnostics, []);
}

#[test]
fn tabs_and_invalid_bytes_are_reported() {
    assert_eq!(code("spec:\n\tkubernetes: {}\n"), "CAS-SPEC-001");
    let loaded = load_bytes("cluster.yaml", b"kind: Cl\xfcster\n");
    let text = rendered(&loaded);
    assert!(
        text.contains("CAS-SPEC-002") && text.contains("line 1"),
        "{text}"
    );
    let loaded = load_bytes("cluster.yaml", b"\xff\xfek\0i\0n\0d\0");
    assert!(rendered(&loaded).contains("UTF-16"));
    let twice = load("cluster.yaml", "kind: Cluster\nkind: Cluster\n");
    assert!(rendered(&twice).contains("CAS-SPEC-014"));
}

#[test]
fn many_findings_are_truncated_but_stay_errors() {
    let mut text = GOOD.to_owned();
    for number in 0..50_000 {
        text += &format!("podCid{number}: 1\n");
    }
    let loaded = load("cluster.yaml", &text);
    assert_eq!(loaded.diagnostics.len(), 101);
    assert!(loaded.cluster.is_none());
    let last = loaded.diagnostics.last().map(|last| last.message.as_str());
    assert_eq!(last, Some("49900 more findings are not shown"));
    rendered(&loaded);
}

#[test]
fn many_hosts_are_compared_in_reasonable_time() {
    let host = "    - {name: a, address: 10.3.0.4, os: windows}\n";
    let text = GOOD.replace("  hosts:\n", &format!("  hosts:\n{}", host.repeat(10_000)));
    let loaded = load("cluster.yaml", &text);
    assert!(has_errors(&loaded.diagnostics));
}

#[test]
fn secrets_are_never_rendered() {
    for field in [
        "password",
        "pasword",
        "passphrase",
        "PassWord",
        "token",
        "credentials",
    ] {
        for value in [
            "hunter2",
            "\"hunter2\"",
            "{value: hunter2}",
            "[hunter2]",
            "{file: a, x: hunter2}",
        ] {
            for rest in [
                "",
                ", prot: 22",
                ", port: [",
                ", key: {data: hunter2}",
                ", a: \"b",
            ] {
                let ssh = format!("    ssh: {{{field}: {value}{rest}}}\n");
                let text = GOOD.replace("    ssh:\n", &ssh);
                let loaded = load("cluster.yaml", &text);
                assert!(loaded.cluster.is_none());
                let text = rendered(&loaded);
                assert!(!text.contains("hunter2"), "{text}");
            }
        }
    }
}

#[test]
fn values_are_truncated_and_escaped_in_messages() {
    let long = "x".repeat(200_000);
    for value in [long.as_str(), "\"\\e[31m\"", "\"a\\nb\""] {
        for field in [
            "name: win1",
            "198.18.0.11",
            "windows-2022",
            "worker",
            "kubelet:",
        ] {
            let text = GOOD.replacen(field, &format!("{field}{value}"), 1);
            let loaded = load("cluster.yaml", &text);
            for finding in &loaded.diagnostics {
                assert!(finding.message.len() < 1000, "{}", finding.message.len());
            }
            let text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
            assert!(!text.contains('\u{1b}'));
        }
    }
}

#[test]
fn byte_order_mark_is_accepted() {
    let loaded = load("cluster.yaml", &format!("\u{feff}{GOOD}"));
    assert_eq!(loaded.diagnostics, []);
    let typo = GOOD.replace("podCidr", "podCIDR");
    let loaded = load("cluster.yaml", &format!("\u{feff}{typo}"));
    assert!(
        rendered(&loaded).contains("cluster.yaml:9:5"),
        "{}",
        rendered(&loaded)
    );
}

#[test]
fn crlf_line_endings_are_accepted() {
    let loaded = load("cluster.yaml", &GOOD.replace('\n', "\r\n"));
    assert_eq!(loaded.diagnostics, []);
}

/// A change of a text, at a position in thousandths.
#[derive(Debug, Clone)]
enum Change {
    Remove(usize, usize),
    Insert(usize, String),
    Double(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let position = 0..1000_usize;
    let chars = "[-:{}\\[\\],#&*!|>'\"%@` \\t\\r\\n~0-9a-zäß\u{feff}\u{1F600}]{1,4}";
    prop_oneof![
        (position.clone(), 1..40_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (position.clone(), chars).prop_map(|(at, text)| Change::Insert(at, text)),
        (position, 1..80_usize).prop_map(|(at, length)| Change::Double(at, length)),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for change in changes {
        let position = |at: &usize| at * chars.len() / 1000;
        match change {
            Change::Remove(at, length) => {
                let start = position(at);
                let end = (start + length).min(chars.len());
                chars.drain(start..end);
            }
            Change::Insert(at, text) => {
                let start = position(at);
                chars.splice(start..start, text.chars());
            }
            Change::Double(at, length) => {
                let start = position(at);
                let end = (start + length).min(chars.len());
                let part = chars.get(start..end).unwrap_or_default().to_vec();
                chars.splice(start..start, part);
            }
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_processed(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        rendered(&load_bytes("cluster.yaml", &bytes));
    }

    #[test]
    fn any_text_is_processed(text in "\\PC{0,200}") {
        rendered(&load("cluster.yaml", &text));
    }

    #[test]
    fn text_of_yaml_syntax_is_processed(text in "[-:{}\\[\\],#&*!|>'\"%@?a1 \\t\\r\\n]{0,120}") {
        rendered(&load("cluster.yaml", &text));
    }

    #[test]
    fn damaged_file_is_processed(changes in proptest::collection::vec(change(), 1..6)) {
        let loaded = load("cluster.yaml", &changed(GOOD, &changes));
        rendered(&loaded);
        for finding in &loaded.diagnostics {
            prop_assert!(finding.severity != Severity::Error || finding.help.is_some());
        }
    }
}
