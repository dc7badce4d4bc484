//! What can go wrong between here and a host: one code, one cause, the values
//! that disagree, and the way on.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::target::Target;
use crate::winrm::{WinRmError, WinRmTarget};

mod report;

/// Where a host was looked for, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    name: String,
    address: String,
    port: u16,
    winrm: bool,
}

impl Place {
    /// The place that a target names.
    pub fn of(target: &Target) -> Self {
        Self(Arc::new(Parts {
            name: target.name.clone(),
            address: target.address.clone(),
            port: target.port,
            winrm: false,
        }))
    }

    /// The place that a target over WinRM names.
    pub fn of_winrm(target: &WinRmTarget) -> Self {
        Self(Arc::new(Parts {
            name: target.name.clone(),
            address: target.address.clone(),
            port: target.port,
            winrm: true,
        }))
    }

    /// Whether it is reached over WinRM.
    pub fn is_winrm(&self) -> bool {
        self.0.winrm
    }

    /// The host's name in the user's file.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its address as written.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// The port of its SSH server, or of WinRM.
    pub fn port(&self) -> u16 {
        self.0.port
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.name() != self.address();
        if named {
            write!(formatter, "{} (", self.name())?;
        }
        formatter.write_str(self.address())?;
        if self.is_winrm() || self.port() != 22 {
            write!(formatter, " port {}", self.port())?;
        }
        if named {
            formatter.write_str(")")?;
        }
        Ok(())
    }
}

/// An error of a session. `Display` is the cause in one line; [`RemoteError::code`],
/// [`RemoteError::details`] and [`RemoteError::remedy`] are the rest of the screen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// `known_hosts` has no line for this host.
    #[error("the key of {place} is not known")]
    HostKeyUnknown {
        /// The host.
        place: Place,
        /// The fingerprint it offers, with its type.
        offered: String,
        /// The file that was searched.
        known_hosts: PathBuf,
    },
    /// `known_hosts` has another key for this host.
    #[error("the key of {place} has changed")]
    HostKeyChanged {
        /// The host.
        place: Place,
        /// The fingerprint it offers, with its type.
        offered: String,
        /// The recorded one.
        recorded: String,
        /// The file, and the line in it.
        known_hosts: PathBuf,
        /// Counted from one.
        line: usize,
    },
    /// `known_hosts` marks the offered key as revoked.
    #[error("the key of {place} is revoked")]
    HostKeyRevoked {
        /// The host.
        place: Place,
        /// The fingerprint it offers, with its type.
        offered: String,
        /// The file, and the line in it.
        known_hosts: PathBuf,
        /// Counted from one.
        line: usize,
    },
    /// The file exists and cannot be read, or a new key cannot be added to it.
    #[error("`{}` cannot be used", path.display())]
    KnownHosts {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The server refuses the key for that user.
    #[error("{place} does not let `{user}` in")]
    Refused {
        /// The host.
        place: Place,
        /// The account.
        user: String,
        /// The fingerprint of our key, with its type.
        key: String,
        /// The methods that the server offers instead.
        methods: Vec<String>,
    },
    /// The server refuses the password, or passwords at all.
    #[error("{place} does not take the password of `{user}`")]
    PasswordRefused {
        /// The host.
        place: Place,
        /// The account.
        user: String,
        /// The methods that the server offers.
        methods: Vec<String>,
    },
    /// The SSH agent cannot be asked, or does not hold what is needed.
    #[error("the SSH agent at `{}` is of no use", socket.display())]
    SshAgent {
        /// Where it should listen.
        socket: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A certificate beside the key cannot be used.
    #[error("the certificate `{}` cannot be used", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The bastion does not let us through.
    #[error("{place} cannot be reached through {bastion}")]
    NotForwarded {
        /// The host.
        place: Place,
        /// The host on the way.
        bastion: Place,
        /// What the bastion says.
        reason: String,
    },
    /// Nothing came back in time.
    #[error("{place} does not answer")]
    NoAnswer {
        /// The host.
        place: Place,
        /// How long it was waited for.
        waited: Duration,
        /// What was being waited for.
        step: &'static str,
    },
    /// The host answers, but nothing listens on the port.
    #[error("{place} refuses the connection")]
    NotListening {
        /// The host.
        place: Place,
    },
    /// There is no way to the address.
    #[error("there is no route to {place}")]
    NoRoute {
        /// The host.
        place: Place,
        /// What the system says.
        source: io::Error,
    },
    /// The name has no address.
    #[error("`{}` has no address", place.address())]
    NoAddress {
        /// The host.
        place: Place,
        /// What the resolver says.
        source: io::Error,
    },
    /// Something answers that does not speak our SSH.
    #[error("{place} answers, but not as an SSH server that casement can talk to")]
    Handshake {
        /// The host.
        place: Place,
        /// The cause.
        source: russh::Error,
    },
    /// The connection ended while something was under way.
    #[error("the connection to {place} was lost")]
    Lost {
        /// The host.
        place: Place,
        /// What was under way.
        step: &'static str,
        /// The cause, where there is one.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The host did not come back.
    #[error("{place} did not come back within {} s", waited.as_secs())]
    NotBack {
        /// The host.
        place: Place,
        /// The deadline.
        waited: Duration,
        /// How often it was tried.
        attempts: u32,
        /// The last failure.
        #[source]
        last: Box<RemoteError>,
    },
    /// The file of the private key cannot be read.
    #[error("the key file `{}` cannot be read", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The private key has a passphrase, and nobody said which.
    #[error("the key `{}` has a passphrase", path.display())]
    KeyEncrypted {
        /// The file.
        path: PathBuf,
    },
    /// The passphrase does not open the key.
    #[error("the passphrase does not open the key `{}`", path.display())]
    WrongPassphrase {
        /// The file.
        path: PathBuf,
    },
    /// The file is no private key.
    #[error("`{}` is not a private key: {reason}", path.display())]
    KeyUnreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The server does not start commands, or no SFTP.
    #[error("{place} does not start {what}")]
    NotStarted {
        /// The host.
        place: Place,
        /// The command or subsystem.
        what: String,
    },
    /// The probe's answer fits no system that casement knows.
    #[error("the system of {place} is not known")]
    UnknownSystem {
        /// The host.
        place: Place,
        /// What the probe printed.
        answer: String,
    },
    /// The host is another machine than the agent was built for; nothing was brought.
    #[error("the agent does not run on what {place} is")]
    WrongSystem {
        /// The host.
        place: Place,
        /// Whether the operating system is another one, not only the processor.
        other_os: bool,
        /// What the host says that it is.
        found: String,
        /// What the agent was built for.
        agent: String,
    },
    /// The agent is there, and does not run or is not the one that was sent.
    #[error("the agent on {place} does not run")]
    AgentBroken {
        /// The host.
        place: Place,
        /// Its path there.
        path: String,
        /// What came instead of its answer.
        answer: String,
    },
    /// A file operation on the host failed.
    #[error("{action} `{path}` on {place}: {reason}")]
    File {
        /// The host.
        place: Place,
        /// "read", "write", "make the folder" and the like.
        action: &'static str,
        /// The path there.
        path: String,
        /// What the server says.
        reason: String,
    },
    /// A file here cannot be read or written.
    #[error("{action} `{}`", path.display())]
    LocalFile {
        /// "read" or "write".
        action: &'static str,
        /// The path here.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something that only WinRM knows.
    #[error(transparent)]
    WinRm(#[from] WinRmError),
    /// The two sides do not understand each other.
    #[error("the agent on {place} and this casement do not understand each other")]
    Wire {
        /// The host.
        place: Place,
        /// Which line, and why.
        source: casement_resource::wire::LineError,
    },
}
