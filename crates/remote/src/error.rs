//! Errors of host sessions: a stable code, the cause in one line, the values
//! behind it, and a remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::target::Target;
use crate::winrm::{WinRmError, WinRmTarget};

mod report;

/// A host as messages show it: `windows01 (10.3.0.4:22)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLabel(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    name: String,
    address: String,
    port: u16,
    winrm: bool,
}

impl HostLabel {
    pub fn ssh(target: &Target) -> Self {
        Self(Arc::new(Parts {
            name: target.name.clone(),
            address: target.address.clone(),
            port: target.port,
            winrm: false,
        }))
    }

    pub fn winrm(target: &WinRmTarget) -> Self {
        Self(Arc::new(Parts {
            name: target.name.clone(),
            address: target.address.clone(),
            port: target.port,
            winrm: true,
        }))
    }

    pub fn is_winrm(&self) -> bool {
        self.0.winrm
    }

    /// The host's name in the cluster file.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The address as written in the cluster file.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// The port of the SSH server or of WinRM.
    pub fn port(&self) -> u16 {
        self.0.port
    }
}

impl fmt::Display for HostLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, port) = (self.address(), self.port());
        let named = self.name() != address;
        if named {
            write!(formatter, "{} (", self.name())?;
        }
        if !named && !self.is_winrm() && port == 22 {
            formatter.write_str(address)?;
        } else if address.contains(':') {
            write!(formatter, "[{address}]:{port}")?;
        } else {
            write!(formatter, "{address}:{port}")?;
        }
        if named {
            formatter.write_str(")")?;
        }
        Ok(())
    }
}

/// An error of a session. `Display` is the cause in one line; [`RemoteError::code`],
/// [`RemoteError::details`] and [`RemoteError::remedy`] are the rest of the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// `known_hosts` has no line for this host.
    #[error("the host key of {host} is unknown")]
    HostKeyUnknown {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        known_hosts: PathBuf,
    },
    /// `known_hosts` has another key for this host.
    #[error("the host key of {host} has changed")]
    HostKeyChanged {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        /// The fingerprint in `known_hosts`.
        recorded: String,
        known_hosts: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// `known_hosts` marks the presented key as revoked.
    #[error("the host key of {host} is revoked")]
    HostKeyRevoked {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        known_hosts: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The file exists but cannot be read, or a new key cannot be added to it.
    #[error("failed to access the known hosts file `{}`", path.display())]
    KnownHosts { path: PathBuf, source: io::Error },
    /// The server rejects the key for this user.
    #[error("authentication failed for `{user}` on {host}")]
    AuthenticationFailed {
        host: HostLabel,
        user: String,
        /// The fingerprints of the keys that were tried, one per line.
        key: String,
        /// The methods that the server accepts.
        methods: Vec<String>,
    },
    /// The server rejects the password, or does not accept passwords at all.
    #[error("password authentication failed for `{user}` on {host}")]
    PasswordRejected {
        host: HostLabel,
        user: String,
        /// The methods that the server accepts.
        methods: Vec<String>,
    },
    /// The SSH agent cannot be reached, or does not have the key.
    #[error("the SSH agent at `{}` cannot be used", socket.display())]
    SshAgent { socket: PathBuf, reason: String },
    /// The certificate next to the key is invalid or expired.
    #[error("the SSH certificate `{}` cannot be used", path.display())]
    Certificate { path: PathBuf, reason: String },
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
    ConnectionRefused { host: HostLabel },
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
    ConnectionLost {
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
    #[error("failed to read the key file `{}`", path.display())]
    KeyFile { path: PathBuf, source: io::Error },
    /// The private key is encrypted and no passphrase was given.
    #[error("the private key `{}` requires a passphrase", path.display())]
    KeyEncrypted { path: PathBuf },
    #[error("wrong passphrase for the private key `{}`", path.display())]
    WrongPassphrase { path: PathBuf },
    #[error("`{}` is not a valid private key: {reason}", path.display())]
    InvalidKey { path: PathBuf, reason: String },
    /// The server refuses to start a command or SFTP.
    #[error("{host} refused to start {what}")]
    StartFailed { host: HostLabel, what: String },
    /// The probe's output matches no supported system.
    #[error("the operating system of {host} is not recognized")]
    UnknownSystem { host: HostLabel, output: String },
    /// The host's system is not the one that the agent was built for; nothing was
    /// copied.
    #[error("the agent was built for another system than {host}")]
    SystemMismatch {
        host: HostLabel,
        /// Whether the operating system differs, not only the architecture.
        other_os: bool,
        found: String,
        /// What the agent was built for.
        agent: String,
    },
    /// The agent is on the host, but does not start or is not the one that was sent.
    #[error("the agent on {host} failed to start")]
    AgentFailed {
        host: HostLabel,
        path: String,
        /// What was read in place of its first message.
        output: String,
    },
    /// A file operation on the host failed.
    #[error("failed to {action} `{path}` on {host}: {reason}")]
    File {
        host: HostLabel,
        /// "read", "write", "create the directory" and the like.
        action: &'static str,
        path: String,
        reason: String,
    },
    /// A local file cannot be read or written.
    #[error("failed to {action} `{}`", path.display())]
    LocalFile {
        /// "read", "write" and the like.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    WinRm(#[from] WinRmError),
    /// A message cannot be encoded or decoded.
    #[error("protocol error between casement and the agent on {host}")]
    Wire {
        host: HostLabel,
        source: casement_resource::wire::LineError,
    },
}
