//! Runs the tools that the lab stands on (ip, mount, ssh-keygen, go …).
//!
//! Commands are lists of arguments, never strings for a shell. What a failed
//! one said is part of the [`Problem`].

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use crate::problem::{Problem, Result};

/// A command from a program and its arguments.
pub fn command<I, S>(program: &str, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs to the end and gives standard output; any failure is a problem.
pub fn output(command: &mut Command) -> Result<String> {
    let output = outcome(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(command, &output))
}

/// Runs to the end for its effect.
pub fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

/// Whether it ended well; what it said does not matter.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program that leaves others behind: they keep its streams, so that
/// waiting for the end of its output would be waiting for theirs.
pub fn run_detached(command: &mut Command) -> Result<()> {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| not_started(command, &error))?;
    if status.success() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Problem::new(
        "CAS-LAB-021",
        format!("`{program}` did not succeed ({status})"),
        "run the command by hand to see more",
    )
    .seen("command", words(command)))
}

/// Runs to the end, whatever the outcome.
pub fn outcome(command: &mut Command) -> Result<Output> {
    command
        .output()
        .map_err(|error| not_started(command, &error))
}

/// The words for a program that could not be started.
pub fn not_started(command: &Command, error: &std::io::Error) -> Problem {
    let program = command.get_program().to_string_lossy().into_owned();
    let remedy = match package_of(&program) {
        Some(package) => format!("apt-get install {package}"),
        None => format!("see why `{program}` cannot be started"),
    };
    Problem::new(
        "CAS-LAB-020",
        format!("could not start `{program}`"),
        remedy,
    )
    .seen("it says", error)
}

fn failed(command: &Command, output: &Output) -> Problem {
    let program = command.get_program().to_string_lossy().into_owned();
    Problem::new(
        "CAS-LAB-021",
        format!("`{program}` did not succeed ({})", output.status),
        "run the command by hand to see more",
    )
    .seen("command", words(command))
    .seen("it says", tail(&output.stderr, &output.stdout))
}

/// The command line as a person would type it (not for a shell).
pub fn words(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last lines that were said, from whichever stream has some.
fn tail(stderr: &[u8], stdout: &[u8]) -> String {
    let text = if stderr.trim_ascii().is_empty() {
        stdout
    } else {
        stderr
    };
    last_lines(&String::from_utf8_lossy(text), 12)
}

/// The last `count` lines of a text, or a word for nothing.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.is_empty() {
        return "(nothing)".to_owned();
    }
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The Debian package that has a program.
pub fn package_of(program: &str) -> Option<&'static str> {
    Some(match program {
        "ip" | "ss" | "bridge" => "iproute2",
        "iptables" => "iptables",
        "wine" | "wineserver" | "wineboot" => "wine wine64",
        "ssh-keygen" | "ssh" => "openssh-client",
        "sshd" | "/usr/sbin/sshd" => "openssh-server",
        "unshare" | "nsenter" | "setpriv" | "setsid" => "util-linux",
        "mount" | "umount" => "mount",
        "x86_64-w64-mingw32-gcc" => "gcc-mingw-w64-x86-64",
        _ => return None,
    })
}
