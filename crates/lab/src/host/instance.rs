//! A host's processes, as one thing that can be started, entered and ended.
//!
//! A capsule is a process with network, mount, PID and UTS namespaces of its
//! own. When its first process ends, the kernel ends all others in it, and with
//! the last one go its mounts, its network devices and its routes. So there is
//! nothing to clean up that could be forgotten, whatever was killed when.
//!
//! Capsules are found by their command line (it names the lab's folder), not by
//! a file that a kill could leave out or leave behind.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command;
use crate::problem::{AtPath, Problem, Result};
use crate::wait;

/// A running capsule, seen from outside.
#[derive(Debug, Clone)]
pub struct Capsule {
    /// The host that it carries.
    pub host: String,
    /// Its first process, as the machine numbers it.
    pub init: Pid,
}

/// A process of the machine that belongs to a capsule, seen from outside: its
/// init, or one of the tools above it that are about to become or to start it.
struct Found {
    capsule: Capsule,
    is_init: bool,
}

/// Starts a capsule for a host; `program` is the lab's copy of casement.
pub fn start(program: &Path, lab: &Path, host: &str, log: &Path) -> Result<Capsule> {
    let output = fs::File::options()
        .create(true)
        .append(true)
        .open(log)
        .at("open", log)?;
    let errors = output.try_clone().at("open", log)?;
    let mut command = command::command(
        "setsid",
        [
            "unshare",
            "--net",
            "--mount",
            "--pid",
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child=KILL",
            "--propagation=private",
            "--mount-proc",
            "--",
        ],
    );
    command
        .arg(program)
        .args(["lab", "init", "--lab"])
        .arg(lab)
        .args(["--host", host])
        .current_dir("/")
        .stdout(output)
        .stderr(errors);
    let mut child = command
        .spawn()
        .map_err(|error| command::not_started(&command, &error))?;
    wait_for_init(&mut child, lab, host, log)
}

fn wait_for_init(child: &mut Child, lab: &Path, host: &str, log: &Path) -> Result<Capsule> {
    let appeared = wait::until(Duration::from_secs(10), || {
        if let Some(capsule) = find(lab, host) {
            return Some(Ok(capsule));
        }
        let ended = child.try_wait().ok().flatten()?;
        let said = fs::read_to_string(log).unwrap_or_default();
        Some(Err(Problem::new(
            "CAS-LAB-030",
            format!("the namespaces of host `{host}` could not be made ({ended})"),
            "the machine must allow network, mount and PID namespaces to root",
        )
        .seen("it says", command::last_lines(&said, 6))))
    });
    appeared.unwrap_or_else(|| {
        Err(Problem::new(
            "CAS-LAB-030",
            format!("host `{host}` did not start within 10 s"),
            "casement lab down, then try again",
        ))
    })
}

/// The capsule of one host, if it runs.
pub fn find(lab: &Path, host: &str) -> Option<Capsule> {
    look(lab)
        .into_iter()
        .find(|found| found.is_init && found.capsule.host == host)
        .map(|found| found.capsule)
}

/// Ends the capsule of one host and waits until nothing of it is left.
pub fn stop(lab: &Path, host: &str) -> Result<()> {
    stop_where(lab, |name| name == host)
}

/// Ends all capsules of a lab.
pub fn stop_all(lab: &Path) -> Result<()> {
    stop_where(lab, |_| true)
}

fn stop_where(lab: &Path, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let mut left = 0;
    let gone = wait::until(Duration::from_secs(20), || {
        let found = look(lab);
        let wanted = found.iter().filter(|found| wanted(&found.capsule.host));
        left = 0;
        for found in wanted {
            left += 1;
            // It may have ended by itself since it was seen: nothing to do then.
            let _ = kill_process(found.capsule.init, Signal::KILL);
        }
        (left == 0).then_some(())
    });
    gone.ok_or_else(|| {
        Problem::new(
            "CAS-LAB-031",
            format!("{left} processes of the lab do not end"),
            "look for processes in state D with `ps`; then `casement lab down` again",
        )
    })
}

fn look(lab: &Path) -> Vec<Found> {
    all_processes()
        .into_iter()
        .filter_map(|pid| recognise(pid, lab))
        .collect()
}

fn recognise(pid: Pid, lab: &Path) -> Option<Found> {
    let words = command_line(pid)?;
    let place = words.iter().position(|word| word == "init")?;
    let [flag_lab, folder, flag_host, host] = words.get(place + 1..place + 5)? else {
        return None;
    };
    let ours = flag_lab == "--lab" && flag_host == "--host" && Path::new(folder) == lab;
    ours.then(|| Found {
        capsule: Capsule {
            host: host.to_string_lossy().into_owned(),
            init: pid,
        },
        is_init: place == 2,
    })
}

/// The processes that can be seen from here.
pub(crate) fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}

/// What a process was started with; none if it is gone.
pub(crate) fn command_line(pid: Pid) -> Option<Vec<OsString>> {
    let bytes = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
    let words = bytes.split(|byte| *byte == 0);
    Some(
        words
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect(),
    )
}

impl Capsule {
    /// A command that runs inside; `setup` says which program and arguments.
    pub fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = command::command(
            "nsenter",
            [
                "--target",
                &self.pid_text(),
                "--net",
                "--mount",
                "--pid",
                "--uts",
                "--ipc",
                "--wdns=/",
                "--",
                program,
            ],
        );
        command.args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// The number of its first process as text.
    pub fn pid_text(&self) -> String {
        self.init.as_raw_nonzero().to_string()
    }

    /// A path inside, as it can be opened from outside.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.pid_text()))
    }
}
