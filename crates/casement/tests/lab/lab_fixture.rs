//! A lab of the test's own, and what the machine looked like before it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Lab tests compare the machine before and after: only one may change it.
pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lab in a state folder of its own; gone when dropped, however the test ends.
pub struct Lab {
    pub name: &'static str,
    state: TempDir,
}

impl Lab {
    pub fn named(name: &'static str) -> Self {
        let state = tempfile::tempdir().unwrap();
        Self { name, state }
    }

    /// `casement lab WORDS` for this lab.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = casement();
        command.args(["lab", "--name", self.name]).args(words);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    /// The program under test, in the lab's folder: there it leaves its records.
    pub fn casement(&self) -> Command {
        let mut command = casement();
        command.current_dir(self.folder());
        command
    }

    /// Runs it, and shows what it said if it fails.
    pub fn run(&self, words: &[&str]) -> String {
        succeed(&mut self.command(words))
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

    /// One host of the status.
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

    /// Plain OpenSSH to a host.
    pub fn ssh(&self, user: &str, host: &str, line: &str) -> Command {
        let mut ssh = bounded("ssh");
        ssh.args(self.ssh_options());
        ssh.arg(format!("{user}@{}", self.address(host))).arg(line);
        ssh.stdin(Stdio::null());
        ssh
    }

    /// A command of `cmd` on a Windows host.
    pub fn cmd(&self, host: &str, line: &str) -> String {
        succeed(&mut self.ssh("Administrator", host, line))
    }

    /// Commands of OpenSSH's sftp, one a line.
    pub fn sftp(&self, host: &str, batch: &str) -> String {
        let mut sftp = bounded("sftp");
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

    /// Puts a text on a Windows host.
    pub fn put(&self, host: &str, path: &str, content: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let batch = format!("put {} \"{path}\"\n", file.path().display());
        self.sftp(host, &batch);
    }

    /// `kubectl` on the control plane.
    pub fn kubectl(&self, words: &[&str]) -> String {
        let exec = ["exec", "control-plane", "--", "kubectl"];
        self.run(&[&exec, words].concat())
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
    /// The last lines of every log: the lab is gone when the test has failed.
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

/// A program of the machine's that must come to an end: one that hangs fails its
/// test (124) instead of holding up all others.
fn bounded(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300", program]);
    command
}

/// The program under test.
pub fn casement() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
    command.stdin(Stdio::null());
    command
}

/// Runs to success and gives standard output.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Everything that was said.
pub fn text(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The words that an answer must have, and that it fits a screen.
pub fn assert_told(command: &mut Command, code: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let said = text(&output);
    println!("{said}");
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    assert!(said.lines().count() <= 24, "more than a screen: {said}");
}

/// Asks until there is an answer; panics with `what` when time is up.
pub fn eventually<T>(what: &str, seconds: u64, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "not within {seconds} s: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// What a lab could leave on a machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    devices: BTreeSet<String>,
    rules: String,
    routes: String,
    mounts: usize,
    processes: BTreeSet<String>,
}

impl Traces {
    pub fn now() -> Self {
        let ip = |words: &[&str]| succeed(Command::new("ip").args(words));
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
            processes: names("/proc").filter_map(|pid| lab_process(&pid)).collect(),
        }
    }
}

/// A process that only a lab has, in words.
fn lab_process(pid: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&bytes).replace('\0', " ");
    #[rustfmt::skip]
    let marks = [
        "casement lab", "casement/lab", "wineserver", ".exe", "etcd ", "kube-", "sshd/config",
    ];
    // The test's own processes name the lab in their arguments too.
    let ours = line.contains("casement lab --name") || line.contains("/deps/");
    let lab = marks.iter().any(|mark| line.contains(mark)) && !ours;
    lab.then(|| format!("{pid} {line}"))
}

/// Waits for what the kernel tidies up by itself, then insists.
pub fn assert_no_trace(before: &Traces, state: &Path) {
    let end = Instant::now() + Duration::from_secs(5);
    while Traces::now() != *before && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(Traces::now(), *before);
    let left: Vec<_> = fs::read_dir(state).unwrap().flatten().collect();
    assert!(left.is_empty(), "left: {left:?}");
}
