//! A running host: starting, finding, entering and stopping it.
//!
//! A host is a process tree in its own network, mount, PID, UTS and IPC namespaces.
//! When its init process ends, the kernel kills all other processes and removes the
//! mounts, network devices and routes, so there is nothing else to clean up.
//!
//! Hosts are found by the command line of init, which contains the lab's directory.
//! A PID file could be missing or stale after a kill.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command;
use crate::problem::{AtPath, Problem, Result};
use crate::state::paths::{lab_command, lab_name, recreate};
use crate::wait;

/// A running host, seen from this machine.
#[derive(Debug, Clone)]
pub struct Instance {
    pub host: String,
    /// PID of the host's init, seen from this machine.
    pub init: Pid,
}

/// The init of a host, or `setsid` or `unshare`, which start it.
struct Found {
    instance: Instance,
    is_init: bool,
}

/// `program` is the lab's copy of casement.
pub fn start(program: &Path, lab: &Path, host: &str, log: &Path) -> Result<Instance> {
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
        .map_err(|error| command::spawn_problem(&command, &error))?;
    wait_for_init(&mut child, lab, host, log)
}

fn wait_for_init(child: &mut Child, lab: &Path, host: &str, log: &Path) -> Result<Instance> {
    let appeared = wait::until(Duration::from_secs(10), || {
        if let Some(instance) = find(lab, host) {
            return Some(Ok(instance));
        }
        let status = child.try_wait().ok().flatten()?;
        let output = fs::read_to_string(log).unwrap_or_default();
        Some(Err(Problem::new(
            "CAS-LAB-030",
            format!("failed to create the namespaces of host `{host}` ({status})"),
            "check that root may create network, mount and PID namespaces on this machine",
        )
        .detail("output", command::last_lines(&output, 6))))
    });
    appeared.unwrap_or_else(|| {
        Err(Problem::new(
            "CAS-LAB-030",
            format!("host `{host}` did not start within 10 s"),
            recreate(&lab_name(lab)),
        ))
    })
}

pub fn find(lab: &Path, host: &str) -> Option<Instance> {
    scan(lab)
        .into_iter()
        .find(|found| found.is_init && found.instance.host == host)
        .map(|found| found.instance)
}

/// Kills all processes of a host and waits until they have ended.
pub fn stop(lab: &Path, host: &str) -> Result<()> {
    stop_where(lab, |name| name == host)
}

/// Kills all hosts of a lab.
pub fn stop_all(lab: &Path) -> Result<()> {
    stop_where(lab, |_| true)
}

fn stop_where(lab: &Path, selected: impl Fn(&str) -> bool) -> Result<()> {
    let mut left = 0;
    let stopped = wait::until(Duration::from_secs(20), || {
        let found = scan(lab);
        let selected = found.iter().filter(|found| selected(&found.instance.host));
        left = 0;
        for found in selected {
            left += 1;
            // The process may have ended since the scan.
            let _ = kill_process(found.instance.init, Signal::KILL);
        }
        (left == 0).then_some(())
    });
    stopped.ok_or_else(|| {
        let down = lab_command(&lab_name(lab), "down");
        let processes = if left == 1 { "process" } else { "processes" };
        Problem::new(
            "CAS-LAB-031",
            format!("{left} {processes} of the lab did not end within 20 s"),
            format!("look for processes in state D with `ps`, then run `{down}` again"),
        )
    })
}

fn scan(lab: &Path) -> Vec<Found> {
    all_processes()
        .into_iter()
        .filter_map(|pid| identify(pid, lab))
        .collect()
}

fn identify(pid: Pid, lab: &Path) -> Option<Found> {
    let arguments = command_line(pid)?;
    let position = arguments.iter().position(|argument| argument == "init")?;
    let [flag_lab, dir, flag_host, host] = arguments.get(position + 1..position + 5)? else {
        return None;
    };
    let matches = flag_lab == "--lab" && flag_host == "--host" && Path::new(dir) == lab;
    matches.then(|| Found {
        instance: Instance {
            host: host.to_string_lossy().into_owned(),
            init: pid,
        },
        is_init: position == 2,
    })
}

/// All processes in this PID namespace.
pub(crate) fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}

/// `None` if the process has ended.
pub(crate) fn command_line(pid: Pid) -> Option<Vec<OsString>> {
    let bytes = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
    let arguments = bytes.split(|byte| *byte == 0);
    Some(
        arguments
            .map(|argument| OsString::from_vec(argument.to_vec()))
            .collect(),
    )
}

impl Instance {
    /// A command that runs in the namespaces of the host.
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

    pub fn pid_text(&self) -> String {
        self.init.as_raw_nonzero().to_string()
    }

    /// The path of a host's file on this machine.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.pid_text()))
    }
}
