//! Runs the tools that the lab depends on (ip, mount, ssh-keygen, go …).
//!
//! Commands are argument lists, never shell strings. The output of a failed
//! command is part of the [`Problem`].

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use crate::problem::{Problem, Result};

pub fn command<I, S>(program: &str, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Returns stdout; a nonzero exit status is a problem.
pub fn output(command: &mut Command) -> Result<String> {
    let output = raw_output(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(command, &output))
}

pub fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program that leaves background processes. They inherit its streams, so
/// reading its output to the end would wait for them.
pub fn run_detached(command: &mut Command) -> Result<()> {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| spawn_problem(command, &error))?;
    if status.success() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Problem::new(
        "CAS-LAB-021",
        format!("`{program}` failed ({status})"),
        "run the command by hand for details",
    )
    .detail("command", command_line(command)))
}

fn raw_output(command: &mut Command) -> Result<Output> {
    command
        .output()
        .map_err(|error| spawn_problem(command, &error))
}

pub fn spawn_problem(command: &Command, error: &std::io::Error) -> Problem {
    let program = command.get_program().to_string_lossy().into_owned();
    let remedy = match package_of(&program) {
        Some(package) => format!("run `apt-get install {package}`"),
        None => format!("check that `{program}` is installed and executable"),
    };
    Problem::new(
        "CAS-LAB-020",
        format!("failed to start `{program}`"),
        remedy,
    )
    .detail("cause", error)
}

fn failed(command: &Command, output: &Output) -> Problem {
    let program = command.get_program().to_string_lossy().into_owned();
    Problem::new(
        "CAS-LAB-021",
        format!("`{program}` failed ({})", output.status),
        "run the command by hand for details",
    )
    .detail("command", command_line(command))
    .detail("output", tail(&output.stderr, &output.stdout))
}

/// For display only: arguments are not quoted.
fn command_line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|argument| argument.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last lines of stderr, or of stdout where stderr is empty.
fn tail(stderr: &[u8], stdout: &[u8]) -> String {
    let text = if stderr.trim_ascii().is_empty() {
        stdout
    } else {
        stderr
    };
    last_lines(&String::from_utf8_lossy(text), 12)
}

/// The last `count` lines of a text, or a placeholder.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.is_empty() {
        return "(no output)".to_owned();
    }
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The Debian package that contains a program.
pub fn package_of(program: &str) -> Option<&'static str> {
    Some(match program {
        "ip" | "ss" | "bridge" => "iproute2",
        "iptables" => "iptables",
        "wine" | "wineserver" | "wineboot" => "wine wine64",
        "ssh-keygen" | "ssh" => "openssh-client",
        "sshd" | "/usr/sbin/sshd" => "openssh-server",
        "unshare" | "nsenter" | "setpriv" | "setsid" | "pivot_root" => "util-linux",
        "hostname" => "hostname",
        "sysctl" => "procps",
        "bash" => "bash",
        "sh" => "dash",
        "mount" | "umount" => "mount",
        "x86_64-w64-mingw32-gcc" => "gcc-mingw-w64-x86-64",
        _ => return None,
    })
}
