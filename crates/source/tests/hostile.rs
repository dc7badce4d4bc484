//! Text that nobody wrote in good faith: it is refused, quickly and in words.

use casement_diag::{Severity, Style, has_errors, json, render_all};
use casement_source::{Loaded, MOST_BYTES, load, load_bytes};
use proptest::prelude::*;

const GOOD: &str = include_str!("../../../scenarios/lab/cluster.yaml");

/// Looks at everything that a caller looks at; gives what a person sees.
fn shown(loaded: &Loaded) -> String {
    assert_eq!(loaded.cluster.is_none(), has_errors(&loaded.diagnostics));
    let text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
    let value = json(&loaded.diagnostics, Some(&loaded.map));
    format!("{text}{value}")
}

fn code(text: &str) -> String {
    let loaded = load("cluster.yaml", text);
    shown(&loaded);
    let first = loaded.diagnostics.first();
    let code = first.and_then(|finding| finding.code.clone());
    code.map(|code| code.to_string()).unwrap_or_default()
}

#[test]
fn large_files_are_not_read() {
    assert_eq!(code(&"a".repeat(MOST_BYTES + 1)), "CAS-SPEC-003");
    let loaded = load_bytes("cluster.yaml", &vec![0xff; 100 << 20]);
    assert!(shown(&loaded).contains("CAS-SPEC-003"));
}

#[test]
fn deep_files_are_not_read() {
    let balanced = format!("{}{}", "[".repeat(70), "]".repeat(70));
    assert_eq!(code(&balanced), "CAS-SPEC-003");
    assert_eq!(code(&"- ".repeat(70)), "CAS-SPEC-003");
    let balanced = format!("{}{}", "{a: ".repeat(70), "}".repeat(70));
    assert_eq!(code(&balanced), "CAS-SPEC-003");
    assert!(!code(&"[".repeat(500_000)).is_empty());
    assert!(!code(&"a:\n ".repeat(100_000)).is_empty());
}

#[test]
fn aliases_do_not_multiply() {
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
fn many_values_are_not_read() {
    let most = "a,".repeat(MOST_BYTES / 2 - 10);
    assert_eq!(code(&format!("[{most}]")), "CAS-SPEC-003");
}

#[test]
fn ten_thousand_hosts_are_read() {
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
fn tabs_and_odd_bytes_are_named() {
    assert_eq!(code("spec:\n\tkubernetes: {}\n"), "CAS-SPEC-001");
    let loaded = load_bytes("cluster.yaml", b"kind: Cl\xfcster\n");
    let says = shown(&loaded);
    assert!(
        says.contains("CAS-SPEC-002") && says.contains("line 1"),
        "{says}"
    );
    let loaded = load_bytes("cluster.yaml", b"\xff\xfek\0i\0n\0d\0");
    assert!(shown(&loaded).contains("UTF-16"));
    let twice = load("cluster.yaml", "kind: Cluster\nkind: Cluster\n");
    assert!(shown(&twice).contains("CAS-SPEC-014"));
}

#[test]
fn many_mistakes_are_cut_but_stay_errors() {
    let mut text = GOOD.to_owned();
    for number in 0..50_000 {
        text += &format!("podCid{number}: 1\n");
    }
    let loaded = load("cluster.yaml", &text);
    assert_eq!(loaded.diagnostics.len(), 101);
    assert!(loaded.cluster.is_none());
    let last = loaded.diagnostics.last().map(|last| last.message.as_str());
    assert_eq!(last, Some("49900 more findings are not shown"));
    shown(&loaded);
}

#[test]
fn many_hosts_are_compared_in_reasonable_time() {
    let host = "    - {name: a, address: 10.3.0.4, os: windows}\n";
    let text = GOOD.replace("  hosts:\n", &format!("  hosts:\n{}", host.repeat(10_000)));
    let loaded = load("cluster.yaml", &text);
    assert!(has_errors(&loaded.diagnostics));
}

#[test]
fn secrets_are_never_shown() {
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
                let says = shown(&loaded);
                assert!(!says.contains("hunter2"), "{says}");
            }
        }
    }
}

#[test]
fn values_do_not_flood_or_steer_the_terminal() {
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
            let says = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
            assert!(!says.contains('\u{1b}'));
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    let loaded = load("cluster.yaml", &format!("\u{feff}{GOOD}"));
    assert_eq!(loaded.diagnostics, []);
    let typo = GOOD.replace("podCidr", "podCIDR");
    let loaded = load("cluster.yaml", &format!("\u{feff}{typo}"));
    assert!(
        shown(&loaded).contains("cluster.yaml:9:5"),
        "{}",
        shown(&loaded)
    );
}

#[test]
fn line_ends_of_windows_are_no_mistake() {
    let loaded = load("cluster.yaml", &GOOD.replace('\n', "\r\n"));
    assert_eq!(loaded.diagnostics, []);
}

/// One change of a text, at a place in thousandths of it.
#[derive(Debug, Clone)]
enum Change {
    Remove(usize, usize),
    Insert(usize, String),
    Double(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0..1000_usize;
    let signs = "[-:{}\\[\\],#&*!|>'\"%@` \\t\\r\\n~0-9a-zäß\u{feff}\u{1F600}]{1,4}";
    prop_oneof![
        (place.clone(), 1..40_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (place.clone(), signs).prop_map(|(at, text)| Change::Insert(at, text)),
        (place, 1..80_usize).prop_map(|(at, length)| Change::Double(at, length)),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for change in changes {
        let place = |at: &usize| at * chars.len() / 1000;
        match change {
            Change::Remove(at, length) => {
                let start = place(at);
                let end = (start + length).min(chars.len());
                chars.drain(start..end);
            }
            Change::Insert(at, text) => {
                let start = place(at);
                chars.splice(start..start, text.chars());
            }
            Change::Double(at, length) => {
                let start = place(at);
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
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        shown(&load_bytes("cluster.yaml", &bytes));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        shown(&load("cluster.yaml", &text));
    }

    #[test]
    fn text_of_yaml_signs_is_answered(text in "[-:{}\\[\\],#&*!|>'\"%@?a1 \\t\\r\\n]{0,120}") {
        shown(&load("cluster.yaml", &text));
    }

    #[test]
    fn a_damaged_file_is_answered(changes in proptest::collection::vec(change(), 1..6)) {
        let loaded = load("cluster.yaml", &changed(GOOD, &changes));
        shown(&loaded);
        for finding in &loaded.diagnostics {
            prop_assert!(finding.severity != Severity::Error || finding.help.is_some());
        }
    }
}
