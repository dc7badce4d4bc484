//! A lab for one test, and the state of the machine before and after it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::lab_processes;

static EXCLUSIVE: Mutex<()> = Mutex::new(());

/// Lab tests compare the machine before and after, so only one may run at a time.
pub fn exclusive() -> MutexGuard<'static, ()> {
    EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lab with its own state folder; torn down on drop.
pub struct Lab {
    pub name: &'static str,
    state: TempDir,
}

impl Lab {
    pub fn named(name: &'static str) -> Self {
        let state = tempfile::tempdir().unwrap();
        Self { name, state }
    }

    /// `casement lab ARGS` for this lab.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = casement();
        command.args(["lab", "--name", self.name]).args(args);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    /// The binary under test in the lab's folder, where it writes its run records.
    pub fn casement(&self) -> Command {
        let mut command = casement();
        command.current_dir(self.folder());
        command
    }

    /// Runs `casement lab ARGS`; panics with the output if it fails.
    pub fn run(&self, args: &[&str]) -> String {
        succeed(&mut self.command(args))
    }

    pub fn folder(&self) -> PathBuf {
        self.state.path().join("casement/lab").join(self.name)
    }

    pub fn state(&self) -> &Path {
        self.state.path()
    }

    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.run(&["status", "-o", "json"])).unwrap()
    }

    pub fn host(&self, name: &str) -> serde_json::Value {
        let status = self.status();
        let hosts = status["hosts"].as_array().unwrap();
        let found = hosts.iter().find(|host| host["name"] == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {status}"))
            .clone()
    }

    pub fn address(&self, host: &str) -> String {
        self.host(host)["address"].as_str().unwrap().to_owned()
    }

    fn ssh_options(&self) -> Vec<String> {
        let folder = self.folder();
        vec![
            "-i".to_owned(),
            folder.join("id_ed25519").display().to_string(),
            format!(
                "-oUserKnownHostsFile={}",
                folder.join("known_hosts").display()
            ),
            "-oStrictHostKeyChecking=yes".to_owned(),
            "-oBatchMode=yes".to_owned(),
            "-oConnectTimeout=10".to_owned(),
            "-oServerAliveInterval=2".to_owned(),
            "-oServerAliveCountMax=3".to_owned(),
        ]
    }

    /// The OpenSSH client.
    pub fn ssh(&self, user: &str, host: &str, line: &str) -> Command {
        let mut ssh = with_timeout("ssh");
        ssh.args(self.ssh_options());
        ssh.arg(format!("{user}@{}", self.address(host))).arg(line);
        ssh.stdin(Stdio::null());
        ssh
    }

    /// Runs a `cmd` line on a Windows host.
    pub fn cmd(&self, host: &str, line: &str) -> String {
        succeed(&mut self.ssh("Administrator", host, line))
    }

    /// Runs OpenSSH's `sftp` with one command per line.
    pub fn sftp(&self, host: &str, batch: &str) -> String {
        let mut sftp = with_timeout("sftp");
        sftp.args(self.ssh_options()).args(["-q", "-b", "-"]);
        sftp.arg(format!("Administrator@{}", self.address(host)));
        let mut child = sftp
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(batch.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "sftp: {}\n{batch}", text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Writes a file on a Windows host.
    pub fn put(&self, host: &str, path: &str, content: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let batch = format!("put {} \"{path}\"\n", file.path().display());
        self.sftp(host, &batch);
    }

    /// `kubectl` on the control plane.
    pub fn kubectl(&self, args: &[&str]) -> String {
        let exec = ["exec", "control-plane", "--", "kubectl"];
        self.run(&[&exec, args].concat())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if thread::panicking() {
            self.show_logs();
        }
        let _ = self.command(&["down"]).output();
    }
}

impl Lab {
    /// Prints the last lines of every log, because the lab is torn down after a failure.
    fn show_logs(&self) {
        let hosts = fs::read_dir(self.folder().join("hosts"))
            .into_iter()
            .flatten();
        for host in hosts.flatten() {
            let logs = fs::read_dir(host.path().join("log")).into_iter().flatten();
            for log in logs.flatten() {
                let text = fs::read_to_string(log.path()).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(8)..].join("\n");
                eprintln!("--- {}\n{last}", log.path().display());
            }
        }
    }
}

/// A program with a timeout: if it hangs, its test fails (exit code 124) and the others
/// go on.
fn with_timeout(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300", program]);
    command
}

/// The binary under test.
pub fn casement() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
    command.stdin(Stdio::null());
    command
}

/// Requires success; returns stdout.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Exit status, stdout and stderr.
pub fn text(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Asserts the exit code, parts of the output, and that the output fits one screen.
pub fn assert_fails_with(command: &mut Command, code: i32, parts: &[&str]) {
    let output = command.output().unwrap();
    let printed = text(&output);
    println!("{printed}");
    assert_eq!(output.status.code(), Some(code), "{printed}");
    for part in parts {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    assert!(
        printed.lines().count() <= 24,
        "more than a screen: {printed}"
    );
}

/// Polls until there is a result; panics with `what` after `seconds`.
pub fn eventually<T>(what: &str, seconds: u64, mut poll: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(result) = poll() {
            return result;
        }
        assert!(Instant::now() < end, "timed out after {seconds} s: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The parts of the machine that a lab could leave changed.
#[derive(Debug, PartialEq, Eq)]
pub struct SystemState {
    devices: BTreeSet<String>,
    rules: String,
    routes: String,
    mounts: usize,
}

impl SystemState {
    pub fn now() -> Self {
        let ip = |args: &[&str]| succeed(Command::new("ip").args(args));
        let names = |folder: &str| {
            let entries = fs::read_dir(folder).unwrap().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        Self {
            devices: names("/sys/class/net").collect(),
            rules: ip(&["rule", "show"]),
            routes: ip(&["-4", "route", "show", "table", "all"]),
            mounts: fs::read_to_string("/proc/self/mounts")
                .unwrap()
                .lines()
                .count(),
        }
    }
}

/// Asserts that nothing is left of the lab with this state folder: no process, and no change of
/// the machine. Waits up to 5 s for asynchronous cleanup in the kernel.
pub fn assert_cleaned_up(before: &SystemState, state: &Path) {
    let is_clean = || SystemState::now() == *before && lab_processes::of(state).is_empty();
    let end = Instant::now() + Duration::from_secs(5);
    while !is_clean() && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(SystemState::now(), *before);
    assert_eq!(lab_processes::of(state), BTreeSet::new());
    let leftovers: Vec<_> = fs::read_dir(state).unwrap().flatten().collect();
    assert!(leftovers.is_empty(), "left: {leftovers:?}");
}
