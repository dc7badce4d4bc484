//! Errors of a connection: it cannot be opened, is lost, or does not come back.

use std::io;
use std::time::Duration;

use casement_diag::Problem;

use super::{HostLabel, RemoteError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The bastion does not forward the connection.
    #[error("{host} is not reachable through {bastion}")]
    ForwardingFailed {
        host: HostLabel,
        bastion: HostLabel,
        reason: String,
    },
    #[error("connection to {host} timed out")]
    TimedOut {
        host: HostLabel,
        timeout: Duration,
        /// What was in progress.
        step: &'static str,
    },
    /// The host is up, but nothing listens on the port.
    #[error("connection refused by {host}")]
    Refused { host: HostLabel },
    #[error("no route to {host}")]
    NoRoute { host: HostLabel, source: io::Error },
    #[error("failed to resolve `{}`", host.address())]
    NameNotResolved { host: HostLabel, source: io::Error },
    /// Something answers on the port that is not a compatible SSH server.
    #[error("SSH handshake with {host} failed")]
    Handshake {
        host: HostLabel,
        source: russh::Error,
    },
    /// The connection ended while something was in progress.
    #[error("connection to {host} was lost")]
    Lost {
        host: HostLabel,
        /// What was in progress.
        step: &'static str,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    #[error("reconnecting to {host} timed out after {} s", timeout.as_secs())]
    ReconnectTimedOut {
        host: HostLabel,
        timeout: Duration,
        attempts: u32,
        #[source]
        last: Box<RemoteError>,
    },
}

impl ConnectionError {
    /// Whether a retry may succeed without any action by the user.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. }
                | Self::Refused { .. }
                | Self::NoRoute { .. }
                | Self::Lost { .. }
                | Self::Handshake {
                    source: russh::Error::HUP
                        | russh::Error::Disconnect
                        | russh::Error::IO(_)
                        | russh::Error::ConnectionTimeout,
                    ..
                }
        )
    }

    /// Whether the host accepted the connection and then dropped it: its network or
    /// its SSH server is just being reconfigured, or it does not speak SSH.
    pub fn is_disconnect(&self) -> bool {
        let accepted = matches!(self, Self::Lost { .. } | Self::Handshake { .. });
        accepted && self.is_transient()
    }

    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::ForwardingFailed {
                bastion, reason, ..
            } => Problem::new(
                "CAS-SSH-026",
                what,
                "Check `AllowTcpForwarding` in sshd_config on the bastion, and that the bastion \
                 can reach the address.",
            )
            .detail("bastion", bastion)
            .detail("reason", reason),
            Self::TimedOut {
                host,
                timeout,
                step,
            } => Problem::new(
                if host.is_winrm() {
                    "CAS-REM-007"
                } else {
                    "CAS-SSH-004"
                },
                what,
                format!(
                    "Check that the host is running, that {} is its address, and that firewalls \
                     allow TCP port {}.",
                    host.address(),
                    host.port()
                ),
            )
            .detail("timeout", format!("{} s", timeout.as_secs()))
            .detail("during", step),
            Self::Refused { host } => refused(host, what),
            Self::NoRoute { host, source } => Problem::new(
                "CAS-SSH-006",
                what,
                format!(
                    "Check the address {} in the cluster file, and the network and VPN of this \
                     computer.",
                    host.address()
                ),
            )
            .detail("reason", source),
            Self::NameNotResolved { host, source } => Problem::new(
                "CAS-SSH-007",
                what,
                format!(
                    "Check the spelling of `{}`, or use its IP address.",
                    host.address()
                ),
            )
            .detail("reason", source),
            Self::Handshake { host, source } => Problem::new(
                "CAS-SSH-013",
                what,
                format!(
                    "Check that an SSH server listens on port {} and accepts connections.",
                    host.port()
                ),
            )
            .detail("reason", source),
            Self::Lost { step, source, .. } => {
                let problem = Problem::new("CAS-SSH-014", what, "Run the command again to resume.")
                    .detail("during", step);
                match source {
                    Some(source) => problem.detail("reason", source),
                    None => problem,
                }
            }
            Self::ReconnectTimedOut {
                host,
                attempts,
                last,
                ..
            } => Problem::new(
                "CAS-SSH-015",
                what,
                format!(
                    "Check on the host's console that it is running and still has the address {}.",
                    host.address()
                ),
            )
            .detail("attempts", attempts)
            .detail("last error", last),
        }
    }
}

fn refused(host: &HostLabel, what: String) -> Problem {
    let port = host.port();
    if host.is_winrm() {
        Problem::new(
            "CAS-REM-003",
            what,
            format!(
                "The host is up, but WinRM does not listen on port {port} (5986 is \
                 `transport: https`, 5985 is `transport: http`). Run \
                 `winrm enumerate winrm/config/listener` on the host; `winrm quickconfig` \
                 creates a listener."
            ),
        )
    } else {
        Problem::new(
            "CAS-SSH-005",
            what,
            format!(
                "The host is up, but no SSH server listens on port {port}. On Windows, run \
                 `Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0`, then \
                 `Start-Service sshd`."
            ),
        )
    }
}
