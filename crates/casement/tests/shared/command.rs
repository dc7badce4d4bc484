//! Commands as people type them, beside a cluster of this process.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

/// After which a command hangs: it is ended then, and the test with it, so that
/// what it said is seen.
const LONGEST: Duration = Duration::from_secs(300);

/// Runs a command while the simulated hosts go on.
pub async fn run(mut command: Command) -> Output {
    let typed = format!("{command:?}");
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(command);
    let mut child = child.kill_on_drop(true).spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = tokio::time::timeout(LONGEST, async {
        let read = tokio::try_join!(out.read_to_end(&mut stdout), err.read_to_end(&mut stderr));
        read.unwrap();
        child.wait().await.unwrap()
    });
    let Ok(status) = ended.await else {
        let (stdout, stderr) = (text(&stdout), text(&stderr));
        panic!("{typed} does not end. It said: {stdout}{stderr}");
    };
    Output {
        status,
        stdout,
        stderr,
    }
}

/// Runs it to success, and gives what it said.
pub async fn succeed(command: Command) -> String {
    let typed = format!("{command:?}");
    let output = run(command).await;
    let said = said(&output);
    assert!(output.status.success(), "{typed}: {said}");
    said
}

/// What was said, on both streams.
pub fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
