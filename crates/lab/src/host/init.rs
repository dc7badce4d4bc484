//! The init process of a host: sets up the root file system, starts the host's
//! programs and reaps orphans. When it ends, the host is off.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::command;
use crate::control_plane;
use crate::host::linux_host;
use crate::host::rootfs::{self, Rootfs, inside};
use crate::host::windows_host;
use crate::network;
use crate::problem::{AtPath, Problem, Result};
use crate::state::paths::{lab_command, lab_name, recreate};
use crate::state::record::{Host, HostKind, Record};
use crate::wait;

/// Runs until the host is killed; returns only on a failed start.
pub fn run(lab: &Path, host: &str) -> Result<()> {
    let record = Record::load(lab)?.ok_or_else(|| {
        Problem::new(
            "CAS-LAB-015",
            format!("no lab found in `{}`", lab.display()),
            format!("run `{}`", lab_command(&lab_name(lab), "up")),
        )
    })?;
    let host = record.host(host)?.clone();
    rootfs::enter(&Rootfs::for_host(&record, lab, &host))?;
    set_host_name(&record, &host)?;
    wait_for_network(&record, &host)?;
    let mut supervisor = Supervisor::default();
    match host.kind {
        HostKind::ControlPlane => control_plane::start(&record, &host, &mut supervisor)?,
        HostKind::Linux => linux_host::start(&host, &mut supervisor)?,
        HostKind::Windows(release) => {
            windows_host::start(&record, &host, release, &mut supervisor)?;
        }
    }
    mark_ready()?;
    supervisor.run()
}

/// The file that marks a host as ready.
pub const READY: &str = "ready";

fn mark_ready() -> Result<()> {
    let path = Path::new(inside::HOST).join(READY);
    fs::write(&path, "").at("write", &path)
}

fn set_host_name(record: &Record, host: &Host) -> Result<()> {
    command::run(&mut command::command("hostname", [&host.name]))?;
    let mut hosts = String::from("127.0.0.1 localhost\n");
    for entry in &record.hosts {
        hosts += &format!("{} {}\n", record.address(entry), entry.name);
    }
    // No name server: the network is isolated, so other names fail at once instead
    // of timing out.
    for (path, text) in [
        ("/etc/hosts", hosts.as_str()),
        ("/etc/hostname", &format!("{}\n", host.name)),
        ("/etc/resolv.conf", ""),
    ] {
        let path = Path::new(path);
        // May be a symlink whose target does not exist in the host.
        let _ = fs::remove_file(path);
        fs::write(path, text).at("write", path)?;
    }
    Ok(())
}

fn wait_for_network(record: &Record, host: &Host) -> Result<()> {
    let nic = network::nic(host.kind);
    let gateway = record.gateway().to_string();
    let show = ["-json", "route", "show", "default", "via", &gateway];
    let connected = wait::until(Duration::from_secs(10), || {
        let routes = command::output(&mut command::command("ip", show)).ok()?;
        routes.contains(nic).then_some(())
    });
    connected.ok_or_else(|| {
        Problem::new(
            "CAS-LAB-032",
            format!(
                "host `{}` was not connected to the network within 10 s",
                host.name
            ),
            recreate(&record.name),
        )
    })
}

/// The long-running programs of a host, by PID.
#[derive(Debug, Default)]
pub struct Supervisor {
    programs: HashMap<Pid, String>,
}

impl Supervisor {
    /// Starts a long-running program; its output goes to `log/<name>.log`.
    pub fn spawn(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let logs = Path::new(inside::HOST).join("log");
        fs::create_dir_all(&logs).at("create", &logs)?;
        let path = logs.join(format!("{name}.log"));
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .at("open", &path)?;
        let errors = log.try_clone().at("open", &path)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|error| command::spawn_problem(command, &error))?;
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            self.programs.insert(pid, name.to_owned());
        }
        Ok(())
    }

    /// Reaps children forever and records which supervised programs ended, for
    /// `lab status`.
    fn run(mut self) -> Result<()> {
        loop {
            match waitpid(None, WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    if let Some(name) = self.programs.remove(&pid) {
                        record_exit(&name, &format!("{status:?}"));
                    }
                }
                Ok(None) => {}
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}

fn record_exit(name: &str, status: &str) {
    let dir = Path::new(inside::HOST).join("ended");
    let _ = fs::create_dir_all(&dir);
    let _ = fs::write(dir.join(name), status);
}
