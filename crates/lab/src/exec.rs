//! `casement lab exec`: runs a command on a host with the caller's terminal.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::containers::command_line;
use crate::host::instance::{self, Instance};
use crate::host::rootfs::inside;
use crate::problem::{Problem, Result};
use crate::state::paths::{lab_command, lab_name};
use crate::state::record::{HostKind, Record};

/// The command to run; the caller sets stdout and stderr.
pub fn command(lab: &Path, record: &Record, host: &str, arguments: &[String]) -> Result<Command> {
    let host = record.host(host)?;
    let instance = running(lab, &host.name)?;
    let mut command = match host.kind {
        HostKind::Windows(_) => {
            let line = command_line::join(arguments);
            instance.command("/run/cmd", ["-c", &line])
        }
        HostKind::Linux | HostKind::ControlPlane => {
            let mut command = instance.command("/usr/bin/env", arguments);
            command
                .env(
                    "PATH",
                    format!("{}/linux:/usr/sbin:/usr/bin:/sbin:/bin", inside::BINARIES),
                )
                .env("KUBECONFIG", "/etc/kubernetes/admin.conf");
            command
        }
    };
    command.stdin(Stdio::inherit());
    Ok(command)
}

pub fn running(lab: &Path, host: &str) -> Result<Instance> {
    instance::find(lab, host).ok_or_else(|| {
        let reboot = lab_command(&lab_name(lab), &format!("reboot {host}"));
        Problem::new(
            "CAS-LAB-035",
            format!("host `{host}` is off"),
            format!("run `{reboot}` to start it"),
        )
    })
}
