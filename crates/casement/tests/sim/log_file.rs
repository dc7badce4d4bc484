//! `--log-file` holds all output, however a run ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::command::combined_output;
use crate::fixture::Fixture;
use crate::running_command::interrupt;

/// Sorted, because stdout and stderr have no common order.
fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn log(fixture: &Fixture, name: &str) -> String {
    let file = fixture.cluster.cluster_file().with_file_name(name);
    std::fs::read_to_string(file).unwrap()
}

/// With `-v`, the file has exactly what is printed.
async fn assert_logs_all_output(fixture: &Fixture, args: &[&str], code: i32) -> String {
    let all = [args, &["-v", "--log-file", "run.log"]].concat();
    let output = fixture.run(&all).await;
    let printed = combined_output(&output);
    assert_eq!(output.status.code(), Some(code), "{printed}");
    let log = log(fixture, "run.log");
    assert_eq!(sorted_lines(&log), sorted_lines(&printed), "{args:?}");
    log
}

fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_file_has_all_output() {
    let fixture = Fixture::start(2, true).await;
    let apply = ["apply", "--yes"];
    let log = assert_logs_all_output(&fixture, &apply, 0).await;
    assert_contains(
        &log,
        &[
            "windows1: ",
            " steps\n",
            ": applying ",
            "Done in ",
            "are Ready.",
        ],
    );
    let log = assert_logs_all_output(&fixture, &["reset", "windows2", "--yes"], 0).await;
    assert_contains(
        &log,
        &["removed", "all casement resources are removed", "Done in"],
    );

    // Without `-v`, the file still has the verbose lines.
    let output = fixture
        .run(&["apply", "--yes", "--log-file", "more.log"])
        .await;
    let (printed, log) = (combined_output(&output), self::log(&fixture, "more.log"));
    let only_logged: Vec<&str> = log.lines().filter(|line| !printed.contains(line)).collect();
    assert!(
        only_logged.iter().any(|line| line.contains(": applying ")),
        "{only_logged:?}"
    );
    assert!(
        printed.lines().all(|line| log.contains(line)),
        "{printed}\n{log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_file_has_failures_in_full() {
    let fixture = Fixture::start(2, true).await;
    let file = fixture.cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file.with_file_name("bad.yaml"), text + "  hots: []\n").unwrap();
    let log = assert_logs_all_output(&fixture, &["apply", "--yes", "-f", "bad.yaml"], 3).await;
    assert_contains(&log, &["unknown field", "hots", "1 error"]);

    let log = assert_logs_all_output(&fixture, &["reset", "nobody"], 2).await;
    assert_contains(&log, &["CAS-CTL-004", "nobody"]);

    fixture.cluster.host("windows2").unwrap().unplug();
    let log = assert_logs_all_output(&fixture, &["apply", "--yes"], 1).await;
    let last = "1 of 3 hosts failed after";
    assert_contains(
        &log,
        &["error[CAS-SSH-005]", "\n  help ", ".casement/runs", last],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_file_has_the_interrupt() {
    let fixture = Fixture::start(1, true).await;
    let args = ["apply", "--yes", "-v", "--log-file", "run.log"];
    let mut command = fixture.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut printed = String::new();
    // Wait until a host is running a step.
    while !printed.contains(": applying ") {
        assert_ne!(stderr.read_line(&mut printed).unwrap(), 0, "{printed}");
    }
    interrupt(child.id());
    stderr.read_to_string(&mut printed).unwrap();
    let output = child.wait_with_output().unwrap();
    printed += &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{printed}");
    let log = log(&fixture, "run.log");
    assert_eq!(sorted_lines(&log), sorted_lines(&printed));
    let parts = ["Stopping after the current step", "Stopped after"];
    assert_contains(&log, &parts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unwritable_log_file_fails_before_any_change() {
    let fixture = Fixture::start(1, true).await;
    let args = ["apply", "--yes", "--log-file", "nowhere/run.log"];
    let printed = fixture.fail(&args, 1).await;
    assert_contains(&printed, &["CAS-FILE-007", "nowhere/run.log", "\n  help "]);
    let host = fixture.cluster.host("windows1").unwrap();
    assert_eq!(host.left_behind(), [] as [&str; 0]);
}
