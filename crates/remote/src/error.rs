//! Errors of host sessions, by concern. Each module has the variants of an error and, next
//! to them, its messages: a stable code, the cause in one line, the values behind it, and help.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use casement_diag::Problem;

use crate::target::Target;
use crate::winrm::{WinRmError, WinRmTarget};

mod agent;
mod connection;
mod file;
mod host_key;
mod login;

pub use agent::AgentError;
pub use connection::ConnectionError;
pub use file::FileError;
pub use host_key::HostKeyError;
pub use login::LoginError;

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

/// An error of a session. `Display` is the cause in one line, [`RemoteError::problem`] the
/// whole message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    #[error(transparent)]
    HostKey(#[from] HostKeyError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    WinRm(#[from] WinRmError),
}

impl RemoteError {
    /// Code, cause, the values behind it, and help.
    pub fn problem(&self) -> Problem {
        match self {
            Self::HostKey(error) => error.problem(),
            Self::Login(error) => error.problem(),
            Self::Connection(error) => error.problem(),
            Self::Agent(error) => error.problem(),
            Self::File(error) => error.problem(),
            Self::WinRm(error) => error.problem(),
        }
    }

    /// The stable code, also the argument of `casement explain`.
    pub fn code(&self) -> Cow<'static, str> {
        self.problem().code
    }

    /// Whether a retry may succeed without any action by the user.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Connection(error) if error.is_transient())
    }

    /// Whether the host accepted the connection and then dropped it: its network or
    /// its SSH server is just being reconfigured, or it does not speak SSH.
    pub fn is_disconnect(&self) -> bool {
        matches!(self, Self::Connection(error) if error.is_disconnect())
    }
}
