//! `--log-file`: whatever is said is in it, however a run ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::ground::Ground;
use crate::typed::said;

/// The lines of a text, each as often as it is there; the two streams have no order.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn log(ground: &Ground, name: &str) -> String {
    let file = ground.cluster.cluster_file().with_file_name(name);
    std::fs::read_to_string(file).unwrap()
}

/// Who wants to see everything sees what the file has, no more and no less.
async fn has_everything(ground: &Ground, words: &[&str], code: i32) -> String {
    let all = [words, &["-v", "--log-file", "run.log"]].concat();
    let output = ground.run(&all).await;
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let log = log(ground, "run.log");
    assert_eq!(lines(&log), lines(&said), "{words:?}");
    log
}

fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_is_said_is_in_the_log_file() {
    let ground = Ground::start(2, true).await;
    let apply = ["apply", "--yes"];
    let log = has_everything(&ground, &apply, 0).await;
    assert_words(
        &log,
        &["windows1: ", " steps\n", " …\n", "Done in ", "are Ready."],
    );
    let log = has_everything(&ground, &["reset", "windows2", "--yes"], 0).await;
    assert_words(
        &log,
        &["removed", "nothing of casement's is left", "Done in"],
    );

    // Who does not want to see it all has it in the file nevertheless.
    let output = ground
        .run(&["apply", "--yes", "--log-file", "more.log"])
        .await;
    let (said, log) = (said(&output), self::log(&ground, "more.log"));
    let unsaid: Vec<&str> = log.lines().filter(|line| !said.contains(line)).collect();
    assert!(unsaid.iter().any(|line| line.ends_with(" …")), "{unsaid:?}");
    assert!(said.lines().all(|line| log.contains(line)), "{said}\n{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_wrong_is_in_the_log_file_from_the_first_word_to_the_last() {
    let ground = Ground::start(2, true).await;
    let file = ground.cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file.with_file_name("bad.yaml"), text + "  hots: []\n").unwrap();
    let log = has_everything(&ground, &["apply", "--yes", "-f", "bad.yaml"], 3).await;
    assert_words(&log, &["unknown field", "hots", "1 error"]);

    let log = has_everything(&ground, &["reset", "nobody"], 2).await;
    assert_words(&log, &["CAS-CTL-004", "nobody"]);

    ground.cluster.host("windows2").unwrap().unplug();
    let log = has_everything(&ground, &["apply", "--yes"], 1).await;
    let last = "1 of 3 hosts failed after";
    assert_words(
        &log,
        &["error[CAS-SSH-005]", "remedy", ".casement/runs", last],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stops_a_run_finds_that_in_the_log_file() {
    let ground = Ground::start(1, true).await;
    let words = ["apply", "--yes", "-v", "--log-file", "run.log"];
    let mut command = ground.command(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    // A host is at work: there is something to be stopped.
    while !said.ends_with(" …\n") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
    }
    let mut stop = Command::new("kill");
    stop.args(["-INT", &child.id().to_string()]);
    assert!(stop.status().unwrap().success());
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    said += &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let log = log(&ground, "run.log");
    assert_eq!(lines(&log), lines(&said));
    let words = ["Stopping after the current step", "Stopped after"];
    assert_words(&log, &words);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_file_that_cannot_be_written_is_told_before_anything_is_done() {
    let ground = Ground::start(1, true).await;
    let words = ["apply", "--yes", "--log-file", "nowhere/run.log"];
    let said = ground.refused(&words, 1).await;
    assert_words(&said, &["CAS-FILE-007", "nowhere/run.log", "remedy"]);
    let host = ground.cluster.host("windows1").unwrap();
    assert_eq!(host.left_behind(), [] as [&str; 0]);
}
