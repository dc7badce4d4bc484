//! A WinRM session: an authenticated shell on a host.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::shell::Shell;
use super::target::WinRmTarget;
use crate::error::{HostLabel, RemoteError};
use crate::process::{Output, Process};

/// Deletes the shell when dropped.
pub struct WinRmSession {
    shell: Arc<Shell>,
    deleted: bool,
}

/// The standard input of a command.
pub(crate) struct Input {
    shell: Arc<Shell>,
    command: String,
}

impl Input {
    pub(crate) async fn write(&self, data: &[u8]) -> Result<(), RemoteError> {
        self.shell.write(&self.command, data, false).await
    }

    pub(crate) async fn end(&self) -> Result<(), RemoteError> {
        self.shell.write(&self.command, &[], true).await
    }
}

impl WinRmSession {
    pub async fn connect(target: &WinRmTarget) -> Result<Self, RemoteError> {
        let shell = Shell::open(target, HostLabel::winrm(target)).await?;
        Ok(Self {
            shell: Arc::new(shell),
            deleted: false,
        })
    }

    pub fn host(&self) -> &HostLabel {
        self.shell.host()
    }

    /// cmd interprets `line`.
    pub async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        let command = self.shell.command(line).await?;
        let (sender, events) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(false);
        let follow = Arc::clone(&self.shell).follow(command.clone(), sender, end);
        tokio::spawn(follow);
        let input = Input {
            shell: Arc::clone(&self.shell),
            command,
        };
        Ok(Process::from_winrm(
            events,
            input,
            ended,
            self.host().clone(),
        ))
    }

    /// Runs a command line to its end, with empty standard input.
    pub async fn run(&self, line: &str) -> Result<Output, RemoteError> {
        let process = self.start(line).await?;
        process.send_eof().await;
        process.output().await
    }

    /// Deletes the shell; dropping the session does so in the background.
    pub async fn close(mut self) {
        self.deleted = true;
        self.shell.delete().await;
    }
}

impl Drop for WinRmSession {
    fn drop(&mut self) {
        if self.deleted {
            return;
        }
        // Without a runtime, the host deletes the idle shell later.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let shell = Arc::clone(&self.shell);
            runtime.spawn(async move { shell.delete().await });
        }
    }
}
