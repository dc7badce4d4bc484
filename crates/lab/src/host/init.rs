//! The first process of a host: it furnishes the host, starts what belongs to
//! it, and takes in the orphans. When it ends, the host is off.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::command;
use crate::control_plane;
use crate::host::furnish::{self, Room, inside};
use crate::host::linux_host;
use crate::host::windows_host;
use crate::network;
use crate::problem::{AtPath, Problem, Result};
use crate::state::record::{Host, HostKind, Record};
use crate::wait;

/// Runs a host until it is killed. Only returns when it could not start.
pub fn run(lab: &Path, host: &str) -> Result<()> {
    let record = Record::load(lab)?.ok_or_else(|| {
        Problem::new(
            "CAS-LAB-015",
            format!("there is no lab in `{}`", lab.display()),
            "casement lab up",
        )
    })?;
    let host = record.host(host)?.clone();
    furnish::furnish(&Room::of_host(&record, lab, &host))?;
    name_the_host(&record, &host)?;
    wait_for_network(&record, &host)?;
    let mut household = Household::default();
    match host.kind {
        HostKind::ControlPlane => control_plane::start(&record, &host, &mut household)?,
        HostKind::Linux => linux_host::start(&host, &mut household)?,
        HostKind::Windows(release) => {
            windows_host::start(&record, &host, release, &mut household)?;
        }
    }
    mark_ready()?;
    household.keep()
}

/// The file whose presence says that a host has finished starting.
pub const READY: &str = "ready";

fn mark_ready() -> Result<()> {
    let path = Path::new(inside::HOST).join(READY);
    fs::write(&path, "").at("write", &path)
}

fn name_the_host(record: &Record, host: &Host) -> Result<()> {
    command::run(&mut command::command("hostname", [&host.name]))?;
    let mut hosts = String::from("127.0.0.1 localhost\n");
    for each in &record.hosts {
        hosts += &format!("{} {}\n", record.address(each), each.name);
    }
    // No name server: what is not in the file fails at once, as it should in a
    // place with no way out.
    for (path, text) in [
        ("/etc/hosts", hosts.as_str()),
        ("/etc/hostname", &format!("{}\n", host.name)),
        ("/etc/resolv.conf", ""),
    ] {
        let path = Path::new(path);
        // The machine's file may be a link to a place that is not here.
        let _ = fs::remove_file(path);
        fs::write(path, text).at("write", path)?;
    }
    Ok(())
}

fn wait_for_network(record: &Record, host: &Host) -> Result<()> {
    let nic = network::nic(host.kind);
    let gateway = record.gateway().to_string();
    let ask = ["-json", "route", "show", "default", "via", &gateway];
    let plugged = wait::until(Duration::from_secs(10), || {
        let routes = command::output(&mut command::command("ip", ask)).ok()?;
        routes.contains(nic).then_some(())
    });
    plugged.ok_or_else(|| {
        Problem::new(
            "CAS-LAB-032",
            format!("host `{}` was not connected within 10 s", host.name),
            "casement lab down, then try again",
        )
    })
}

/// The processes that a host was given, by the names of their logs.
#[derive(Debug, Default)]
pub struct Household {
    members: HashMap<Pid, String>,
}

impl Household {
    /// Starts a program that stays; it writes to `log/<name>.log`.
    pub fn take_in(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let logs = Path::new(inside::HOST).join("log");
        fs::create_dir_all(&logs).at("make", &logs)?;
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
            .map_err(|error| command::not_started(command, &error))?;
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            self.members.insert(pid, name.to_owned());
        }
        Ok(())
    }

    /// Waits for children for ever, and writes down which of the household
    /// ended: `lab status` shows it.
    fn keep(mut self) -> Result<()> {
        loop {
            match waitpid(None, WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    if let Some(name) = self.members.remove(&pid) {
                        note_end(&name, &format!("{status:?}"));
                    }
                }
                Ok(None) => {}
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}

fn note_end(name: &str, status: &str) {
    let folder = Path::new(inside::HOST).join("ended");
    let _ = fs::create_dir_all(&folder);
    let _ = fs::write(folder.join(name), status);
}
