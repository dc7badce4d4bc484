//! Pages from records of `apply`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::process::Command;

use casement_report::record::{ReadError, Record};
use casement_report::{Run, StepResult, page};
use casement_spec::Cluster;

const PLAN: &str = r#"{"recordVersion":1,"casement":"0.1.0","verb":"apply","began":"2026-11-15T17-38-02Z"}
{"cluster":{"changes":[{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","name":"windows-2022","action":"create"}]}}
{"stage":{"host":"win1","stage":"prepare","steps":[{"id":"dir","kind":"directory","name":"C:\\k","action":"create","changes":[{"field":"exists","before":null,"after":"yes"}]}]}}
"#;

fn event(host: &str, sequence: u64, at: u64, what: &str) -> String {
    format!(
        r#"{{"host":"{host}","stage":"prepare","event":{{"run":"r1-prepare","sequence":{sequence},"at":{at},"what":{what}}}}}"#
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
    .map(|line| line + "\n")
    .concat()
}

const SUMMARY: &str = r#"{
  "recordVersion": 1, "casement": "0.1.0", "verb": "apply", "began": "2026-11-15T17-38-02Z",
  "seconds": 55.42, "outcome": "failed",
  "hosts": [
    {"name": "win1", "changed": 1},
    {"name": "win2", "error": {"code": "CAS-RUN-001", "message": "1 of the steps on `win2` failed", "help": "again"}}
  ]
}"#;

fn read(plan: &str, events: &str, summary: Option<&str>) -> Result<Run, ReadError> {
    let summary = summary.map(str::as_bytes);
    let record = Record::parse(plan.as_bytes(), events.as_bytes(), summary)?;
    Ok(Run::of(&record))
}

fn run() -> Run {
    read(PLAN, &events(), Some(SUMMARY)).unwrap()
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
fn a_record_contains_the_steps_and_times_of_each_host() {
    let run = run();
    let [object] = run.objects.as_slice() else {
        panic!("{run:?}");
    };
    assert_eq!(object.to_string(), "RuntimeClass windows-2022");
    let [win1, win2] = run.hosts.as_slice() else {
        panic!("{run:?}");
    };
    assert_eq!(win1.steps.len(), 1);
    let step = &win1.steps[0];
    assert_eq!(step.result, StepResult::Changed);
    assert_eq!((step.from, step.to), (100, 2_100));
    // The plan knows what the event only names.
    assert_eq!(step.step.identity(), r"directory C:\k");
    assert_eq!((step.number, win1.stages[0].steps), (1, 2));
    assert_eq!(win2.steps[0].result, StepResult::Failed);
    assert_eq!(run.end(), 2_100);
    assert_eq!(run.milliseconds, 55_420);
}

#[test]
fn a_page_shows_the_failure_with_both_values_and_help() {
    let text = page(&run(), Some(&cluster()));
    for words in [
        "casement apply: shop",
        "CAS-NODE-008",
        "expected <code>running</code>",
        "found <code>stopped</code>",
        "help: look at its log",
        "a &lt;folder&gt;",
        "<h2>Summary</h2>",
        "<h2>Topology</h2>",
        "<h2>Timeline</h2>",
        "<h2>Changes</h2>",
        "windows-2025",
        "not in this run",
        "✗ failed",
    ] {
        assert!(text.contains(words), "`{words}` is not in the page");
    }
}

#[test]
fn a_page_loads_no_external_resources() {
    let text = page(&run(), Some(&cluster()));
    for word in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!text.contains(word), "`{word}` is in the page");
    }
}

#[test]
fn host_output_is_escaped() {
    let evil = SUMMARY.replace("1 of the steps", "</script><script>alert(1)</script>");
    let run = read(PLAN, &events(), Some(&evil)).unwrap();
    let text = page(&run, None);
    assert!(!text.contains("<script>alert"), "{text}");
    assert_eq!(text.matches("</script>").count(), 1);
}

#[test]
fn a_truncated_record_is_reported_with_its_line() {
    let events = events();
    let cut = &events[..events.len() - 20];
    let error = read(PLAN, cut, Some(SUMMARY)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to parse events.jsonl, line 5"),
        "{error}"
    );
}

#[test]
fn a_killed_run_is_shown_up_to_its_last_event() {
    // The last line is incomplete.
    let events = events();
    let torn = &events[..events.len() - 20];
    let run = read(PLAN, torn, None).unwrap();
    assert!(run.is_incomplete());
    assert_eq!((run.verb.as_str(), run.milliseconds), ("apply", 2_100));
    let objects: Vec<String> = run.objects.iter().map(ToString::to_string).collect();
    assert_eq!(objects, ["RuntimeClass windows-2022"]);
    let hosts = run.hosts.iter().map(|it| (it.name.as_str(), it.changed));
    assert_eq!(hosts.collect::<Vec<_>>(), [("win1", 1), ("win2", 0)]);
    let text = page(&run, None);
    for words in [
        "casement apply: ",
        "incomplete",
        " after ",
        "still in progress",
    ] {
        assert!(text.contains(words), "`{words}` is not in the page");
    }
    // Killed before anything was planned.
    let head = PLAN.split_inclusive('\n').next().unwrap();
    let bare = read(head, "", None).unwrap();
    assert!(page(&bare, None).contains("incomplete"));
}

#[test]
fn an_empty_run_has_a_page() {
    let summary = r#"{"recordVersion":1,"casement":"0.1.0","verb":"apply","began":"x","seconds":0,"outcome":"done","hosts":[]}"#;
    let run = read("", "", Some(summary)).unwrap();
    assert!(page(&run, None).contains("0.0 s"));
}

/// The DOM of a page in a browser, and its console messages.
fn in_a_browser(text: &str) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    std::fs::write(&file, text).unwrap();
    let home = format!(
        "--user-data-dir={}",
        directory.path().join("home").display()
    );
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
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "chromium failed to load the page (install it with `apt-get install chromium`): {stderr}"
    );
    let console = stderr.lines().filter(|line| line.contains("CONSOLE"));
    let console = console.map(str::to_owned).collect::<Vec<_>>();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    (dom, console.join("\n"))
}

#[test]
#[ignore = "needs chromium"]
fn a_browser_shows_the_page_without_console_messages() {
    let run = run();
    let (dom, console) = in_a_browser(&page(&run, Some(&cluster())));
    assert_eq!(console, "");
    let number = |id: &str| {
        let start = dom.find(&format!("id=\"{id}\">")).expect(id) + id.len() + 6;
        let text: String = dom[start..].chars().take_while(|c| *c != '<').collect();
        text
    };
    assert_eq!(number("hosts"), run.hosts.len().to_string());
    assert_eq!(number("objects"), run.objects.len().to_string());
    let changed: u32 = run.hosts.iter().map(|host| host.changed).sum();
    assert_eq!(number("changed"), changed.to_string());
    assert_eq!(number("failed"), "1");
    assert_eq!(number("took"), "0:55");
    // Invalid markup would lose the SVG images.
    assert_eq!(dom.matches("</svg>").count(), 2);
    // The check detects errors: this page runs a failing script.
    let faulty = "<!DOCTYPE html><html><body><script>undefinedFunction()</script></body></html>";
    assert!(in_a_browser(faulty).1.contains("undefinedFunction"));
}
