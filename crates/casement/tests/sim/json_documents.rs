//! The documents of verbs that change something: `apply`, `join` and `reset`.

use std::process::Output;

use casement_sim::{SimFault, SimNetwork, SimOptions};
use serde_json::Value;

use crate::fixture::Fixture;
use crate::json_output::assert_documented;
use crate::running_command::{Barrier, RunningCommand};

/// Standard output, which is one document and nothing else.
fn document(output: &Output, kind: &str) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = serde_json::from_str(&text);
    let document: Value = parsed.unwrap_or_else(|error| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {text}\n{stderr}")
    });
    assert_documented(&document, kind);
    document
}

fn host<'a>(document: &'a Value, name: &str) -> &'a Value {
    let hosts = document["hosts"].as_array().unwrap();
    let host = hosts.iter().find(|host| host["name"] == name);
    host.unwrap_or_else(|| panic!("{name} is not in {document:#}"))
}

fn step<'a>(host: &'a Value, kind: &str, name: &str) -> &'a Value {
    let steps = host["steps"].as_array().unwrap();
    let step = steps
        .iter()
        .find(|step| step["kind"] == kind && step["name"] == name);
    step.unwrap_or_else(|| panic!("no {kind} {name} in {host:#}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_and_reset_print_one_document_with_all_steps() {
    let fixture = Fixture::start(1, true).await;
    let apply = ["apply", "--yes", "-o", "json"];
    let output = fixture.run(&apply).await;
    assert_eq!(output.status.code(), Some(0));
    let first = document(&output, "Apply");
    assert_eq!(first["outcome"], "done");
    assert_eq!(first["verb"], "apply");
    assert!(!first["objects"].as_array().unwrap().is_empty());
    let windows = host(&first, "windows1");
    let kubelet = step(windows, "service", "kubelet");
    assert_eq!(kubelet["action"], "create");
    assert_eq!(kubelet["result"], "changed");
    assert_eq!(kubelet["stage"], "prepare");
    assert_eq!(step(windows, "join", "windows1")["stage"], "join");
    let steps = windows["steps"].as_array().unwrap().len();
    assert_eq!(windows["changed"], steps);
    assert!(windows["pods"].is_string(), "{windows:#}");
    // The same as the record has.
    let record = first["record"].as_str().unwrap();
    let report = fixture.cluster.agents();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_casement"));
    command.current_dir(report.parent().unwrap());
    let output = command
        .args(["report", "-o", "json", record])
        .output()
        .unwrap();
    let mut report = document(&output, "Report");
    for field in ["kind", "readOnly"] {
        report[field] = first[field].clone();
    }
    assert_eq!(report, first);

    let again = document(&fixture.run(&apply).await, "Apply");
    assert_eq!(host(&again, "windows1")["changed"], 0);
    assert_eq!(again["objects"], Value::Array(Vec::new()));

    let reset = ["reset", "--all", "--cluster", "--yes", "-o", "json"];
    let output = fixture.run(&reset).await;
    assert_eq!(output.status.code(), Some(0));
    let reset = document(&output, "Reset");
    let windows = host(&reset, "windows1");
    let kubelet = step(windows, "service", "kubelet");
    assert_eq!(kubelet["action"], "remove");
    assert_eq!(kubelet["result"], "removed");
    assert!(windows["verified"].as_u64().unwrap() > 10, "{windows:#}");
    let objects = reset["objects"].as_array().unwrap();
    assert!(!objects.is_empty());
    assert!(objects.iter().all(|object| object["action"] == "remove"));
    assert_eq!(reset["restored"], Value::Array(Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_lists_the_fields_that_it_restored() {
    let shape = SimOptions {
        windows: 1,
        network: SimNetwork::default_overlay(),
        ..SimOptions::default()
    };
    let fixture = Fixture::start_with(&shape).await;
    let outage = "--allow-network-outage";
    let apply = ["apply", "--yes", outage, "-o", "json"];
    let applied = document(&fixture.run(&apply).await, "Apply");
    let objects = applied["objects"].as_array().unwrap();
    assert!(objects.iter().any(|object| object["outage"].is_string()));
    assert!(
        objects.iter().any(|object| object["note"].is_string()),
        "{applied:#}"
    );
    let reset = ["reset", "--all", "--cluster", "--yes", outage, "-o", "json"];
    let output = fixture.run(&reset).await;
    assert_eq!(output.status.code(), Some(0));
    let reset = document(&output, "Reset");
    let restored = reset["restored"].as_array().unwrap();
    assert!(!restored.is_empty(), "{reset:#}");
    for field in restored {
        assert_eq!(field["result"], "restored", "{field:#}");
        assert!(
            field["field"].as_str().unwrap().starts_with('/'),
            "{field:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_hosts_have_the_error_and_the_failed_step() {
    let fixture = Fixture::start(2, true).await;
    fixture.cluster.host("windows2").unwrap().unplug();
    let apply = ["apply", "--yes", "-o", "json"];
    let output = fixture.run(&apply).await;
    assert_eq!(output.status.code(), Some(1));
    let applied = document(&output, "Apply");
    assert_eq!(applied["outcome"], "failed");
    assert!(host(&applied, "windows1")["error"].is_null());
    let code = host(&applied, "windows2")["error"]["code"]
        .as_str()
        .unwrap();
    assert!(code.starts_with("CAS-SSH-"), "{code}");
    // No Windows host is reachable: there is no record.
    fixture.cluster.host("windows1").unwrap().unplug();
    let output = fixture.run(&apply).await;
    assert_eq!(output.status.code(), Some(1));
    let applied = document(&output, "Apply");
    assert!(applied["record"].is_null());
    assert!(host(&applied, "windows1")["error"]["help"].is_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_apply_prints_its_document() {
    let fixture = Fixture::start(1, true).await;
    let windows = fixture.cluster.host("windows1").unwrap();
    let barrier = Barrier::after_changes(windows, 3);
    let file = tempfile::NamedTempFile::new().unwrap();
    let command = fixture.command(&["apply", "--yes", "-o", "json"]);
    let stdout = file.reopen().unwrap().into();
    let mut running = RunningCommand::start_with_stdout(command, stdout);
    fixture
        .wait_until("a change", |_| barrier.is_blocking())
        .await;
    running.interrupt();
    running.wait_for("to resume.").await;
    barrier.open();
    let (code, printed) = running.wait().await;
    assert_eq!(code, Some(130), "{printed}");
    let printed = std::fs::read(file.path()).unwrap();
    let document: Value = serde_json::from_slice(&printed).unwrap();
    assert_documented(&document, "Apply");
    assert_eq!(document["outcome"], "stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_lists_every_drifted_step() {
    let fixture = Fixture::start(2, false).await;
    fixture.succeed(&["apply", "--yes"]).await;
    SimFault::NetworkGone
        .inject(&fixture.cluster)
        .await
        .unwrap();
    let output = fixture.run(&["status", "-o", "json"]).await;
    assert_eq!(output.status.code(), Some(4));
    let status = document(&output, "Status");
    let drifted = |host: &&Value| host["status"] == "drifted";
    let hosts = status["hosts"].as_array().unwrap();
    let [drifted] = hosts.iter().filter(drifted).collect::<Vec<_>>()[..] else {
        panic!("one host drifted: {status:#}");
    };
    let drift = drifted["drift"].as_array().unwrap();
    assert!(
        drift.iter().any(|step| step["kind"] == "hnsNetwork"),
        "{drifted:#}"
    );
    let others = hosts.iter().filter(|host| host["name"] != drifted["name"]);
    for host in others {
        assert_eq!(host["status"], "inSync");
        assert_eq!(host["node"], "Ready");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_that_fails_before_it_has_a_document_prints_its_error() {
    let fixture = Fixture::start(1, true).await;
    for verb in [&["apply", "--yes"][..], &["plan"], &["status"], &["doctor"]] {
        let args = [verb, &["-f", "missing.yaml", "-o", "json"]].concat();
        let output = fixture.run(&args).await;
        assert_ne!(output.status.code(), Some(0));
        let failed = document(&output, "Error");
        let code = failed["error"]["code"].as_str().unwrap();
        assert!(code.starts_with("CAS-FILE-"), "{failed:#}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(code), "{stderr}");
    }
}
