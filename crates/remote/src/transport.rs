//! What every session offers: commands, and files for the agent.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use casement_resource::Sha256;

use crate::agent::{Agent, AgentHome, Delivery};
use crate::command::{self, HostSystem};
use crate::error::{HostLabel, RemoteError};
use crate::paths::RemotePath;
use crate::process::Process;
use crate::session::Session;
use crate::sftp::TransferProgress;
use crate::target::Target;
use crate::winrm::{WinRmSession, WinRmTarget};

pub trait Transport: Send + Sync {
    fn host(&self) -> &HostLabel;

    /// The host's shell interprets `line`.
    fn start(&self, line: &str) -> impl Future<Output = Result<Process, RemoteError>> + Send;

    /// The host's system; `None` if it cannot be detected.
    fn system(&self) -> impl Future<Output = Result<Option<HostSystem>, RemoteError>> + Send {
        async {
            let process = self.start(command::PROBE).await?;
            process.send_eof().await;
            let output = process.output().await?;
            Ok(command::parse_probe(&String::from_utf8_lossy(
                &output.stdout,
            )))
        }
    }

    /// Copies the agent to `path` unless it is there; a file with other content is
    /// replaced.
    fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> impl Future<Output = Result<Delivery, RemoteError>> + Send;

    /// Removes the agent and the parent directories that are empty then and that only
    /// casement uses.
    fn remove_agent(
        &self,
        path: &RemotePath,
    ) -> impl Future<Output = Result<(), RemoteError>> + Send;

    /// Copies blobs to the host's store, except those that are there. Returns the number
    /// of bytes sent.
    fn send_blobs(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        progress: impl FnMut(TransferProgress) + Send,
    ) -> impl Future<Output = Result<u64, RemoteError>> + Send;
}

/// Something that a session can be opened to.
pub trait Connect: Clone + Send + Sync {
    type Session: Send;

    fn host(&self) -> HostLabel;

    fn connect(&self) -> impl Future<Output = Result<Self::Session, RemoteError>> + Send;

    /// For each step of connecting and authenticating.
    fn connect_timeout_mut(&mut self) -> &mut Duration;
}

impl Connect for Target {
    type Session = Session;

    fn host(&self) -> HostLabel {
        HostLabel::ssh(self)
    }

    async fn connect(&self) -> Result<Session, RemoteError> {
        Session::connect(self).await
    }

    fn connect_timeout_mut(&mut self) -> &mut Duration {
        &mut self.connect_timeout
    }
}

impl Connect for WinRmTarget {
    type Session = WinRmSession;

    fn host(&self) -> HostLabel {
        HostLabel::winrm(self)
    }

    async fn connect(&self) -> Result<WinRmSession, RemoteError> {
        WinRmSession::connect(self).await
    }

    fn connect_timeout_mut(&mut self) -> &mut Duration {
        &mut self.connect_timeout
    }
}

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

/// An open session with a [`HostEndpoint`].
pub enum Connection {
    Ssh(Session),
    WinRm(WinRmSession),
}

impl Connection {
    /// Disconnects cleanly. Dropping a connection just closes it.
    pub async fn close(self) {
        match self {
            Self::Ssh(session) => session.close().await,
            Self::WinRm(session) => session.close().await,
        }
    }
}

impl Connect for HostEndpoint {
    type Session = Connection;

    fn host(&self) -> HostLabel {
        match self {
            Self::Ssh(target) => target.host(),
            Self::WinRm(target) => target.host(),
        }
    }

    async fn connect(&self) -> Result<Connection, RemoteError> {
        Ok(match self {
            Self::Ssh(target) => Connection::Ssh(Session::connect(target).await?),
            Self::WinRm(target) => Connection::WinRm(WinRmSession::connect(target).await?),
        })
    }

    fn connect_timeout_mut(&mut self) -> &mut Duration {
        match self {
            Self::Ssh(target) => target.connect_timeout_mut(),
            Self::WinRm(target) => target.connect_timeout_mut(),
        }
    }
}

impl Transport for Session {
    fn host(&self) -> &HostLabel {
        Self::host(self)
    }

    async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        Self::start(self, line).await
    }

    async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<Delivery, RemoteError> {
        self.sftp().await?.deliver(agent, path, progress).await
    }

    async fn remove_agent(&self, path: &RemotePath) -> Result<(), RemoteError> {
        self.sftp().await?.remove_agent(path).await
    }

    async fn send_blobs(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        mut progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<u64, RemoteError> {
        let sftp = self.sftp().await?;
        let mut sent = 0;
        for (from, hash) in blobs {
            sent += home.put_blob(&sftp, from, hash, &mut progress).await?;
        }
        Ok(sent)
    }
}

impl Transport for WinRmSession {
    fn host(&self) -> &HostLabel {
        Self::host(self)
    }

    async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        Self::start(self, line).await
    }

    async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<Delivery, RemoteError> {
        Self::deliver(self, agent, path, progress).await
    }

    async fn remove_agent(&self, path: &RemotePath) -> Result<(), RemoteError> {
        Self::remove_agent(self, path).await
    }

    async fn send_blobs(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        mut progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<u64, RemoteError> {
        let mut sent = 0;
        for (from, hash) in blobs {
            sent += self.put_blob(home, from, hash, &mut progress).await?;
        }
        Ok(sent)
    }
}

impl Transport for Connection {
    fn host(&self) -> &HostLabel {
        match self {
            Self::Ssh(session) => session.host(),
            Self::WinRm(session) => session.host(),
        }
    }

    async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        match self {
            Self::Ssh(session) => session.start(line).await,
            Self::WinRm(session) => session.start(line).await,
        }
    }

    async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<Delivery, RemoteError> {
        match self {
            Self::Ssh(session) => Transport::deliver(session, agent, path, progress).await,
            Self::WinRm(session) => Transport::deliver(session, agent, path, progress).await,
        }
    }

    async fn remove_agent(&self, path: &RemotePath) -> Result<(), RemoteError> {
        match self {
            Self::Ssh(session) => Transport::remove_agent(session, path).await,
            Self::WinRm(session) => Transport::remove_agent(session, path).await,
        }
    }

    async fn send_blobs(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<u64, RemoteError> {
        match self {
            Self::Ssh(session) => session.send_blobs(home, blobs, progress).await,
            Self::WinRm(session) => session.send_blobs(home, blobs, progress).await,
        }
    }
}
