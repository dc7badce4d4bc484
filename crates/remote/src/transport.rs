//! How a host is reached, and what every session with one offers: commands, and files for
//! the agent.

use std::path::Path;
use std::time::Duration;

use casement_resource::Sha256;

use crate::agent::{AgentHome, Delivery};
use crate::command::{self, HostSystem};
use crate::error::{HostLabel, RemoteError};
use crate::process::Process;
use crate::session::Session;
use crate::sftp::TransferProgress;
use crate::target::Target;
use crate::winrm::{WinRmSession, WinRmTarget};

/// How a host is reached.
#[derive(Debug, Clone)]
pub enum HostEndpoint {
    Ssh(Target),
    WinRm(WinRmTarget),
}

impl HostEndpoint {
    /// The host's name in the cluster file.
    pub fn name(&self) -> &str {
        match self {
            Self::Ssh(target) => &target.name,
            Self::WinRm(target) => &target.name,
        }
    }

    pub async fn connect(&self) -> Result<Connection, RemoteError> {
        Ok(match self {
            Self::Ssh(target) => Connection::Ssh(Session::connect(target).await?),
            Self::WinRm(target) => Connection::WinRm(WinRmSession::connect(target).await?),
        })
    }

    pub(crate) fn host(&self) -> HostLabel {
        match self {
            Self::Ssh(target) => HostLabel::ssh(target),
            Self::WinRm(target) => HostLabel::winrm(target),
        }
    }

    /// For each step of connecting and authenticating.
    pub(crate) fn connect_timeout_mut(&mut self) -> &mut Duration {
        match self {
            Self::Ssh(target) => &mut target.connect_timeout,
            Self::WinRm(target) => &mut target.connect_timeout,
        }
    }
}

impl From<Target> for HostEndpoint {
    fn from(target: Target) -> Self {
        Self::Ssh(target)
    }
}

impl From<WinRmTarget> for HostEndpoint {
    fn from(target: WinRmTarget) -> Self {
        Self::WinRm(target)
    }
}

/// An open session with a [`HostEndpoint`]. Dropping it just closes the connection.
pub enum Connection {
    Ssh(Session),
    WinRm(WinRmSession),
}

impl Connection {
    pub fn host(&self) -> &HostLabel {
        match self {
            Self::Ssh(session) => session.host(),
            Self::WinRm(session) => session.host(),
        }
    }

    /// The host's shell interprets `line`.
    pub async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        match self {
            Self::Ssh(session) => session.start(line).await,
            Self::WinRm(session) => session.start(line).await,
        }
    }

    /// The host's system, with any login shell; `None` if it cannot be detected.
    pub async fn system(&self) -> Result<Option<HostSystem>, RemoteError> {
        let process = self.start(command::PROBE).await?;
        process.send_eof().await;
        let output = process.output().await?;
        Ok(command::parse_probe(&String::from_utf8_lossy(
            &output.stdout,
        )))
    }

    /// Copies the agent unless it is there; a file with other content is replaced.
    pub async fn deliver(
        &self,
        home: &AgentHome,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<Delivery, RemoteError> {
        let (agent, path) = (home.agent(), home.path());
        match self {
            Self::Ssh(session) => session.sftp().await?.deliver(agent, &path, progress).await,
            Self::WinRm(session) => session.deliver(agent, &path, progress).await,
        }
    }

    /// Removes the agent and the parent directories that are empty then and that only
    /// casement uses. Its process must have ended.
    pub async fn remove_agent(&self, home: &AgentHome) -> Result<(), RemoteError> {
        let path = home.path();
        match self {
            Self::Ssh(session) => session.sftp().await?.remove_agent(&path).await,
            Self::WinRm(session) => session.remove_agent(&path).await,
        }
    }

    /// Copies blobs to the host's store, except those that are there. Returns the number
    /// of bytes sent.
    pub async fn send_blobs(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        mut progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<u64, RemoteError> {
        let mut sent = 0;
        match self {
            Self::Ssh(session) => {
                let (sftp, paths) = (session.sftp().await?, home.paths());
                for (from, hash) in blobs {
                    sftp.create_dirs(&paths.blobs).await?;
                    let to = paths.blob(hash);
                    sent += sftp.put_blob(from, hash, &to, &mut progress).await?;
                }
            }
            Self::WinRm(session) => {
                for (from, hash) in blobs {
                    sent += session.put_blob(home, from, hash, &mut progress).await?;
                }
            }
        }
        Ok(sent)
    }

    /// Disconnects cleanly.
    pub async fn close(self) {
        match self {
            Self::Ssh(session) => session.close().await,
            Self::WinRm(session) => session.close().await,
        }
    }
}
