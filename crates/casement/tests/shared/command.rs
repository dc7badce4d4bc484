//! Runs commands while the simulated cluster in this process keeps running.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

/// A command that takes longer hangs: it is killed, and the test fails with its output.
const TIMEOUT: Duration = Duration::from_secs(300);

pub async fn run(mut command: Command) -> Output {
    let command_line = format!("{command:?}");
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(command);
    let mut child = child.kill_on_drop(true).spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = tokio::time::timeout(TIMEOUT, async {
        let read = tokio::try_join!(out.read_to_end(&mut stdout), err.read_to_end(&mut stderr));
        read.unwrap();
        child.wait().await.unwrap()
    });
    let Ok(status) = ended.await else {
        let (stdout, stderr) = (text(&stdout), text(&stderr));
        panic!("timed out: {command_line}. Output: {stdout}{stderr}");
    };
    Output {
        status,
        stdout,
        stderr,
    }
}

/// Requires success; returns stdout and stderr.
pub async fn succeed(command: Command) -> String {
    let command_line = format!("{command:?}");
    let output = run(command).await;
    let printed = combined_output(&output);
    assert!(output.status.success(), "{command_line}: {printed}");
    printed
}

/// Stdout followed by stderr.
pub fn combined_output(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
