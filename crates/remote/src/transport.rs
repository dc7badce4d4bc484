//! What a session offers, whatever it runs on: commands, and files for the agent.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use casement_resource::Sha256;

use crate::agent::{Agent, AgentHome, Delivery};
use crate::command::{self, HostSystem};
use crate::error::{Place, RemoteError};
use crate::places::RemotePath;
use crate::process::Process;
use crate::session::Session;
use crate::sftp::Progress;
use crate::target::Target;
use crate::winrm::{WinRmSession, WinRmTarget};

/// A session with a host.
pub trait Transport: Send + Sync {
    /// The host, as messages name it.
    fn place(&self) -> &Place;

    /// Starts a command line; the host's shell reads it.
    fn start(&self, line: &str) -> impl Future<Output = Result<Process, RemoteError>> + Send;

    /// What the host is, as far as it says so itself.
    fn system(&self) -> impl Future<Output = Result<Option<HostSystem>, RemoteError>> + Send {
        async {
            let process = self.start(command::PROBE).await?;
            process.send_eof().await;
            let said = process.output().await?;
            Ok(command::read_probe(&String::from_utf8_lossy(&said.stdout)))
        }
    }

    /// Makes sure that the agent is at `path`; one that is something else is
    /// replaced.
    fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(Progress) + Send,
    ) -> impl Future<Output = Result<Delivery, RemoteError>> + Send;

    /// Takes the agent away, and the folders above it that are empty then and
    /// that only casement uses.
    fn take_away(&self, path: &RemotePath) -> impl Future<Output = Result<(), RemoteError>> + Send;

    /// Brings blobs to the host's store; those that are there are not sent.
    /// Returns the bytes that were sent.
    fn bring(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        progress: impl FnMut(Progress) + Send,
    ) -> impl Future<Output = Result<u64, RemoteError>> + Send;
}

/// A way to a host, which makes a session.
pub trait Dial: Clone + Send + Sync {
    /// The session that it makes.
    type Session: Send;

    /// Where it leads.
    fn place(&self) -> Place;

    /// Connects and logs in.
    fn connect(&self) -> impl Future<Output = Result<Self::Session, RemoteError>> + Send;

    /// How long connecting and logging in may take.
    fn patience(&mut self) -> &mut Duration;
}

impl Dial for Target {
    type Session = Session;

    fn place(&self) -> Place {
        Place::of(self)
    }

    async fn connect(&self) -> Result<Session, RemoteError> {
        Session::connect(self).await
    }

    fn patience(&mut self) -> &mut Duration {
        &mut self.connect_timeout
    }
}

impl Dial for WinRmTarget {
    type Session = WinRmSession;

    fn place(&self) -> Place {
        Place::of_winrm(self)
    }

    async fn connect(&self) -> Result<WinRmSession, RemoteError> {
        WinRmSession::connect(self).await
    }

    fn patience(&mut self) -> &mut Duration {
        &mut self.connect_timeout
    }
}

/// The way to a host that a spec names.
#[derive(Debug, Clone)]
pub enum Way {
    /// Over SSH.
    Ssh(Target),
    /// Over WinRM.
    WinRm(WinRmTarget),
}

impl Way {
    /// The host's name in the user's file.
    pub fn name(&self) -> &str {
        match self {
            Self::Ssh(target) => &target.name,
            Self::WinRm(target) => &target.name,
        }
    }
}

impl From<Target> for Way {
    fn from(target: Target) -> Self {
        Self::Ssh(target)
    }
}

impl From<WinRmTarget> for Way {
    fn from(target: WinRmTarget) -> Self {
        Self::WinRm(target)
    }
}

/// A session that came by a [`Way`].
pub enum Connection {
    /// Over SSH.
    Ssh(Session),
    /// Over WinRM.
    WinRm(WinRmSession),
}

impl Connection {
    /// Says goodbye. Dropping a connection does without.
    pub async fn close(self) {
        match self {
            Self::Ssh(session) => session.close().await,
            Self::WinRm(session) => session.close().await,
        }
    }
}

impl Dial for Way {
    type Session = Connection;

    fn place(&self) -> Place {
        match self {
            Self::Ssh(target) => target.place(),
            Self::WinRm(target) => target.place(),
        }
    }

    async fn connect(&self) -> Result<Connection, RemoteError> {
        Ok(match self {
            Self::Ssh(target) => Connection::Ssh(Session::connect(target).await?),
            Self::WinRm(target) => Connection::WinRm(WinRmSession::connect(target).await?),
        })
    }

    fn patience(&mut self) -> &mut Duration {
        match self {
            Self::Ssh(target) => target.patience(),
            Self::WinRm(target) => target.patience(),
        }
    }
}

impl Transport for Session {
    fn place(&self) -> &Place {
        Self::place(self)
    }

    async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        Self::start(self, line).await
    }

    async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Delivery, RemoteError> {
        self.sftp().await?.deliver(agent, path, progress).await
    }

    async fn take_away(&self, path: &RemotePath) -> Result<(), RemoteError> {
        self.sftp().await?.take_away(path).await
    }

    async fn bring(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        mut progress: impl FnMut(Progress) + Send,
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
    fn place(&self) -> &Place {
        Self::place(self)
    }

    async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        Self::start(self, line).await
    }

    async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Delivery, RemoteError> {
        Self::deliver(self, agent, path, progress).await
    }

    async fn take_away(&self, path: &RemotePath) -> Result<(), RemoteError> {
        Self::take_away(self, path).await
    }

    async fn bring(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<u64, RemoteError> {
        let mut sent = 0;
        for (from, hash) in blobs {
            sent += self.put_blob(home, from, hash, &mut progress).await?;
        }
        Ok(sent)
    }
}

impl Transport for Connection {
    fn place(&self) -> &Place {
        match self {
            Self::Ssh(session) => session.place(),
            Self::WinRm(session) => session.place(),
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
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Delivery, RemoteError> {
        match self {
            Self::Ssh(session) => Transport::deliver(session, agent, path, progress).await,
            Self::WinRm(session) => Transport::deliver(session, agent, path, progress).await,
        }
    }

    async fn take_away(&self, path: &RemotePath) -> Result<(), RemoteError> {
        match self {
            Self::Ssh(session) => Transport::take_away(session, path).await,
            Self::WinRm(session) => Transport::take_away(session, path).await,
        }
    }

    async fn bring(
        &self,
        home: &AgentHome,
        blobs: &[(&Path, Sha256)],
        progress: impl FnMut(Progress) + Send,
    ) -> Result<u64, RemoteError> {
        match self {
            Self::Ssh(session) => session.bring(home, blobs, progress).await,
            Self::WinRm(session) => session.bring(home, blobs, progress).await,
        }
    }
}
