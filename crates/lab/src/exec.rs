//! `casement lab exec`: runs a command on a host, with the caller's terminal.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::containers::command_line;
use crate::host::capsule::{self, Capsule};
use crate::host::furnish::inside;
use crate::problem::{Problem, Result};
use crate::state::record::{HostKind, Record};

/// The command, ready to be run; the caller decides about its streams.
pub fn command(lab: &Path, record: &Record, host: &str, words: &[String]) -> Result<Command> {
    let host = record.host(host)?;
    let capsule = running(lab, &host.name)?;
    let mut command = match host.kind {
        HostKind::Windows(_) => {
            let line = command_line::join(words);
            capsule.command("/run/cmd", ["-c", &line])
        }
        HostKind::Linux | HostKind::ControlPlane => {
            let mut command = capsule.command("/usr/bin/env", words);
            command
                .env(
                    "PATH",
                    format!("{}/linux:/usr/sbin:/usr/bin:/sbin:/bin", inside::PARTS),
                )
                .env("KUBECONFIG", "/etc/kubernetes/admin.conf");
            command
        }
    };
    command.stdin(Stdio::inherit());
    Ok(command)
}

/// The capsule of a host, or the word that it is off.
pub fn running(lab: &Path, host: &str) -> Result<Capsule> {
    capsule::find(lab, host).ok_or_else(|| {
        Problem::new(
            "CAS-LAB-035",
            format!("host `{host}` is off"),
            format!("casement lab reboot {host} starts it"),
        )
    })
}
