//! A page from a record as `apply` leaves it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::Command;

use casement_report::{Run, StepState, page};
use casement_spec::Cluster;

const PLAN: &str = r#"[{"cluster": ["RuntimeClass windows-2022"]}, {"host": "win1", "part": "prepare", "steps": []}]"#;

fn event(host: &str, sequence: u64, at: u64, what: &str) -> String {
    format!(
        r#"{{"host":"{host}","part":"prepare","event":{{"run":"r1-prepare","sequence":{sequence},"at":{at},"what":{what}}}}}"#
    )
}

fn events() -> String {
    let began = r#"{"began":{"kind":{"converge":"prepare"},"steps":2,"controller":"anna"}}"#;
    let change = r#"{"stepBegan":{"id":"dir","changes":[{"field":"exists","before":null,"after":"a <folder>"}],"disruptive":false}}"#;
    let changed = r#"{"stepChanged":{"id":"dir"}}"#;
    let failed = r#"{"stepFailed":{"id":"service","failure":{"code":"CAS-NODE-008","what":"the kubelet stopped","wanted":"running","found":"stopped","remedy":"look at its log"}}}"#;
    [
        event("win1", 1, 1_000, began),
        event("win1", 2, 1_100, change),
        event("win1", 3, 3_100, changed),
        event("win2", 1, 1_000, began),
        event("win2", 2, 2_000, failed),
    ]
    .join("\n")
}

const SUMMARY: &str = r#"{
  "casement": "0.1.0", "verb": "apply", "began": "2026-11-15T17-38-02Z", "seconds": 55.42,
  "outcome": "failed",
  "hosts": [{"name": "win1", "changed": 1}, {"name": "win2", "error": "1 of the steps on `win2` failed"}]
}"#;

fn run() -> Run {
    Run::read(PLAN, &events(), Some(SUMMARY)).unwrap()
}

fn cluster() -> Cluster {
    let text = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: win1, address: 198.18.0.11, os: windows-2022}
    - {name: win2, address: 198.18.0.12, os: windows-2025}
    - {name: lin1, address: 198.18.0.21, os: linux, managed: false}
  access:
    ssh: {user: Administrator, key: ./id_ed25519, knownHosts: ./known_hosts}
";
    let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    loaded.cluster.unwrap()
}

#[test]
fn a_record_says_what_each_host_did_and_when() {
    let run = run();
    assert_eq!(run.objects, ["RuntimeClass windows-2022"]);
    let [win1, win2] = run.hosts.as_slice() else {
        panic!("{run:?}");
    };
    assert_eq!(win1.steps.len(), 1);
    assert_eq!(win1.steps[0].state, StepState::Changed);
    assert_eq!(
        (win1.steps[0].span.from, win1.steps[0].span.to),
        (100, 2_100)
    );
    assert_eq!(win2.steps[0].state, StepState::Failed);
    assert_eq!(run.end(), 2_100);
    assert_eq!(run.milliseconds, 55_420);
}

#[test]
fn a_page_shows_the_failure_with_both_values_and_the_remedy() {
    let text = page(&run(), Some(&cluster()));
    for words in [
        "casement apply of shop",
        "CAS-NODE-008",
        "wanted <code>running</code>",
        "found <code>stopped</code>",
        "remedy: look at its log",
        "a &lt;folder&gt;",
        "windows-2025",
        "not in this run",
        "✗ failed",
    ] {
        assert!(text.contains(words), "`{words}` is not in the page");
    }
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let text = page(&run(), Some(&cluster()));
    for word in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!text.contains(word), "`{word}` is in the page");
    }
}

#[test]
fn what_a_host_said_cannot_leave_its_place() {
    let evil = SUMMARY.replace("1 of the steps", "</script><script>alert(1)</script>");
    let run = Run::read(PLAN, &events(), Some(&evil)).unwrap();
    let text = page(&run, None);
    assert!(!text.contains("<script>alert"), "{text}");
    assert_eq!(text.matches("</script>").count(), 1);
}

#[test]
fn a_record_that_was_cut_off_names_the_line() {
    let events = events();
    let cut = &events[..events.len() - 20];
    let error = Run::read(PLAN, cut, Some(SUMMARY)).unwrap_err();
    assert!(
        error.to_string().starts_with("events.jsonl, line 5"),
        "{error}"
    );
}

#[test]
fn a_run_that_was_killed_is_shown_as_far_as_it_came() {
    let head = r#"{"casement": "0.1.0", "verb": "apply", "began": "2026-11-15T17-38-02Z"}"#;
    let plan = PLAN.replacen('[', &format!("[{head}, "), 1);
    // Its last line is half a line.
    let events = events();
    let torn = &events[..events.len() - 20];
    let run = Run::read(&plan, torn, None).unwrap();
    assert!(run.is_cut_off());
    assert_eq!((run.verb.as_str(), run.milliseconds), ("apply", 2_100));
    assert_eq!(run.objects, ["RuntimeClass windows-2022"]);
    let hosts = run.hosts.iter().map(|it| (it.name.as_str(), it.changed));
    assert_eq!(hosts.collect::<Vec<_>>(), [("win1", 1), ("win2", 0)]);
    let text = page(&run, None);
    for words in ["casement apply of", "cut off", " after ", "still at work"] {
        assert!(text.contains(words), "`{words}` is not in the page");
    }
    // Killed before anything was planned.
    let bare = Run::read(&format!("[{head}]"), "", None).unwrap();
    assert!(page(&bare, None).contains("cut off"));
}

#[test]
fn a_run_in_which_nothing_happened_has_a_page_too() {
    let summary = r#"{"casement":"0.1.0","verb":"apply","began":"x","seconds":0,"outcome":"done","hosts":[]}"#;
    let run = Run::read("[]", "", Some(summary)).unwrap();
    assert!(page(&run, None).contains("0.0 s"));
}

/// What a browser makes of a page, and what it complained about.
fn in_a_browser(text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, text).unwrap();
    let home = format!("--user-data-dir={}", folder.path().join("home").display());
    let output = Command::new("timeout")
        .args([
            "120",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
        ])
        .args(["--enable-logging=stderr", "--dump-dom", &home])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "chromium did not show the page; `apt-get install chromium` brings it: {said}"
    );
    let complaints = said.lines().filter(|line| line.contains("CONSOLE"));
    let complaints = complaints.map(str::to_owned).collect::<Vec<_>>();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    (shown, complaints.join("\n"))
}

#[test]
fn a_browser_shows_the_numbers_of_the_run_and_complains_of_nothing() {
    let run = run();
    let (shown, complaints) = in_a_browser(&page(&run, Some(&cluster())));
    assert_eq!(complaints, "");
    let number = |id: &str| {
        let start = shown.find(&format!("id=\"{id}\">")).expect(id) + id.len() + 6;
        let text: String = shown[start..].chars().take_while(|c| *c != '<').collect();
        text
    };
    assert_eq!(number("hosts"), run.hosts.len().to_string());
    assert_eq!(number("objects"), run.objects.len().to_string());
    let changed: u32 = run.hosts.iter().map(|host| host.changed).sum();
    assert_eq!(number("changed"), changed.to_string());
    assert_eq!(number("failed"), "1");
    assert_eq!(number("took"), "0:55");
    // A page that a browser had to mend would have lost its pictures.
    assert_eq!(shown.matches("</svg>").count(), 2);
    // And a fault in a page is seen: this one runs a script that fails.
    let faulty = "<!DOCTYPE html><html><body><script>nobody()</script></body></html>";
    assert!(in_a_browser(faulty).1.contains("nobody"));
}
