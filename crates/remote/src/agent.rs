//! The agent on a host: copied once, named by its hash, and reused from then on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod binary;

use casement_resource::Sha256;
use casement_resource::wire::{PREFIX, PROTOCOL, ToAgent, ToController};

use crate::channel::{Channel, ChannelEnd, Incoming};
use crate::command::{CmdSwitch, HostOs, program_line};
use crate::error::{AgentError, ConnectionError, RemoteError};
use crate::paths::{AgentPaths, RemotePath, hash_file};
use crate::sftp::TransferProgress;
use crate::transport::Connection;

/// The local agent executable for one operating system.
#[derive(Debug, Clone)]
pub struct Agent {
    pub path: PathBuf,
    /// Names its directory on the host.
    pub hash: Sha256,
    pub size: u64,
    pub os: HostOs,
}

impl Agent {
    pub fn load(path: &Path, os: HostOs) -> Result<Self, RemoteError> {
        let (hash, size) = hash_file(path)?;
        Ok(Self {
            path: path.to_owned(),
            hash,
            size,
            os,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Reused,
    /// The number of bytes.
    Sent(u64),
}

/// A running agent that has sent its first message.
pub struct Opened {
    pub channel: Channel,
    /// `hello`, unless something is wrong.
    pub first_message: Box<ToController>,
    pub delivery: Delivery,
}

enum Greeting {
    Message(Channel, Box<ToController>),
    /// No message arrived; the other output of the process.
    NoMessage(String),
    /// A shell reads the messages: it did not understand the switch to run a command.
    Shell,
}

/// A first start may wait for a virus scanner.
const GREETING_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the output is checked for a shell that answers instead.
const SHELL_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// An agent and its paths on a host.
#[derive(Debug, Clone)]
pub struct AgentHome {
    agent: Agent,
    paths: AgentPaths,
}

impl AgentHome {
    pub fn new(agent: Agent) -> Self {
        let paths = AgentPaths::for_os(agent.os);
        Self { agent, paths }
    }

    /// For hosts that keep their state elsewhere.
    pub fn with_paths(agent: Agent, paths: AgentPaths) -> Self {
        Self { agent, paths }
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub fn path(&self) -> RemotePath {
        self.paths.agent(&self.agent.hash)
    }

    pub fn paths(&self) -> &AgentPaths {
        &self.paths
    }

    pub fn command_line(&self, arguments: &[&str]) -> String {
        self.command_line_with(CmdSwitch::Plain, arguments)
    }

    fn command_line_with(&self, switch: CmdSwitch, arguments: &[&str]) -> String {
        let state = self.paths.state.as_ref().map(RemotePath::native);
        let state = state.as_deref().map(|dir| ["--state-dir", dir]);
        let arguments: Vec<&str> = state.iter().flatten().chain(arguments).copied().collect();
        program_line(self.agent.os, switch, &self.path().native(), &arguments)
    }

    /// Starts the agent's channel and sends `hello`; copies the agent only if there is
    /// no answer, so that a host that already has it costs one command.
    ///
    /// The returned message is the agent's `hello`, or whatever it sent instead.
    pub async fn open(
        &self,
        session: &Connection,
        controller: &str,
        progress: impl FnMut(TransferProgress) + Send,
    ) -> Result<Opened, RemoteError> {
        let mut switch = CmdSwitch::Plain;
        let mut greeting = self.greet(session, controller, switch).await?;
        if let Greeting::Shell = greeting {
            switch = CmdSwitch::Doubled;
            greeting = self.greet(session, controller, switch).await?;
        }
        let opened = match greeting {
            Greeting::Message(channel, first_message)
                if self.is_from_this_agent(&first_message) =>
            {
                return Ok(Opened {
                    channel,
                    first_message,
                    delivery: Delivery::Reused,
                });
            }
            Greeting::Message(..) => {
                let delivery = session.deliver(self, progress).await?;
                (self.greet(session, controller, switch).await?, delivery)
            }
            Greeting::NoMessage(_) | Greeting::Shell => {
                self.check_system(session).await?;
                let delivery = session.deliver(self, progress).await?;
                (self.greet(session, controller, switch).await?, delivery)
            }
        };
        let output = match opened {
            (Greeting::Message(channel, first_message), delivery) => {
                return Ok(Opened {
                    channel,
                    first_message,
                    delivery,
                });
            }
            (Greeting::NoMessage(output), _) => output,
            (Greeting::Shell, _) => "a shell that does not run commands".to_owned(),
        };
        Err(RemoteError::Agent(AgentError::NotStarted {
            host: session.host().clone(),
            path: self.path().native(),
            output,
        }))
    }

    /// Whether the message is from this agent, not from a damaged copy.
    fn is_from_this_agent(&self, first_message: &ToController) -> bool {
        match first_message {
            ToController::Hello { agent, .. } => *agent == self.agent.hash,
            _ => true,
        }
    }

    /// Checks that this agent runs on the host before anything is copied to it for the
    /// first time. A host that does not report its system is assumed to match the
    /// cluster file.
    async fn check_system(&self, session: &Connection) -> Result<(), RemoteError> {
        let Some(found) = session.system().await? else {
            return Ok(());
        };
        let built_for = binary::architecture(&self.agent.path);
        let differs = |architecture: &String| built_for.is_some_and(|ours| ours != architecture);
        if found.os == self.agent.os && !found.architecture.as_ref().is_some_and(differs) {
            return Ok(());
        }
        let describe = |os: HostOs, architecture: Option<&str>| match architecture {
            Some(architecture) => format!("{os}, {architecture}"),
            None => os.to_string(),
        };
        Err(RemoteError::Agent(AgentError::SystemMismatch {
            host: session.host().clone(),
            other_os: found.os != self.agent.os,
            found: describe(found.os, found.architecture.as_deref()),
            agent: describe(self.agent.os, built_for),
        }))
    }

    async fn greet(
        &self,
        session: &Connection,
        controller: &str,
        switch: CmdSwitch,
    ) -> Result<Greeting, RemoteError> {
        let process = session
            .start(&self.command_line_with(switch, &["channel"]))
            .await?;
        let mut channel = Channel::new(process);
        let hello = ToAgent::Hello {
            protocol: PROTOCOL,
            controller: controller.to_owned(),
        };
        // If the program does not exist, the process ends before it can read; its exit
        // explains more than this error.
        drop(channel.send(&hello).await);
        let started = Instant::now();
        loop {
            return match tokio::time::timeout(SHELL_CHECK_INTERVAL, channel.next()).await {
                Ok(Ok(Incoming::Message(first_message))) => {
                    Ok(Greeting::Message(channel, first_message))
                }
                Ok(Ok(Incoming::End(ChannelEnd::ConnectionLost))) => {
                    Err(RemoteError::Connection(ConnectionError::Lost {
                        host: session.host().clone(),
                        step: "starting the agent",
                        source: None,
                    }))
                }
                Ok(Err(error)) => Err(error),
                // A shell echoes its input, or complains about it.
                Err(_) if channel.noise().any(|line| line.contains(PREFIX.trim_end())) => {
                    Ok(Greeting::Shell)
                }
                Err(_) if started.elapsed() < GREETING_TIMEOUT => continue,
                Ok(Ok(Incoming::End(_))) | Err(_) => {
                    let noise: Vec<_> = channel.noise().collect();
                    Ok(Greeting::NoMessage(noise.join("\n")))
                }
            };
        }
    }
}
