//! The agent on a host: brought once, named by its hash, reused from then on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod binary;

use casement_resource::Sha256;
use casement_resource::wire::{PREFIX, PROTOCOL, ToAgent, ToController};

use crate::channel::{Channel, ChannelEnd, Incoming};
use crate::command::{CmdSwitch, HostOs, program_line};
use crate::error::RemoteError;
use crate::places::{Places, RemotePath, hash_file};
use crate::sftp::{Progress, Sftp};
use crate::transport::Transport;

/// The agent's executable here, for one system.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Where it is here.
    pub path: PathBuf,
    /// Its hash, which names it there.
    pub hash: Sha256,
    /// Its length.
    pub size: u64,
    /// The system that it is for.
    pub os: HostOs,
}

impl Agent {
    /// Hashes the executable at `path`.
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

/// What it took to have the agent there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It was there already.
    Reused,
    /// So many bytes were sent.
    Sent(u64),
}

/// An agent that was spoken to.
pub struct Opened {
    /// The conversation.
    pub channel: Channel,
    /// Its first message: `hello`, unless something is wrong.
    pub answer: Box<ToController>,
    /// What it took to have it there.
    pub delivery: Delivery,
}

enum Greeting {
    Answer(Channel, Box<ToController>),
    /// The process ended without a message, or never said one; what came instead.
    Silence(String),
    /// A shell reads what the agent should: it was not told to run anything.
    Shell,
}

/// How long an agent may take to answer: a first start may wait for a virus scanner.
const GREETING: Duration = Duration::from_secs(60);
/// How often it is looked at who answers instead.
const LOOK: Duration = Duration::from_millis(250);

/// Where an agent lives on a host.
#[derive(Debug, Clone)]
pub struct AgentHome {
    agent: Agent,
    places: Places,
}

impl AgentHome {
    /// The agent's home in the places of the design.
    pub fn new(agent: Agent) -> Self {
        let places = Places::of(agent.os);
        Self { agent, places }
    }

    /// The same with other folders, for hosts that keep their state elsewhere.
    pub fn within(agent: Agent, places: Places) -> Self {
        Self { agent, places }
    }

    /// Its path on the host.
    pub fn path(&self) -> RemotePath {
        self.places.agent(&self.agent.hash)
    }

    /// The host's folders.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The command line that starts it.
    pub fn line(&self, arguments: &[&str]) -> String {
        self.line_with(CmdSwitch::Plain, arguments)
    }

    fn line_with(&self, cmd: CmdSwitch, arguments: &[&str]) -> String {
        let state = self.places.state.as_ref().map(RemotePath::native);
        let state = state.as_deref().map(|folder| ["--state-dir", folder]);
        let words: Vec<&str> = state.iter().flatten().chain(arguments).copied().collect();
        program_line(self.agent.os, cmd, &self.path().native(), &words)
    }

    /// Starts the agent's channel and says hello; brings the agent only when that
    /// is not answered, so that a host which has it pays one command.
    ///
    /// The answer is the agent's `hello`, or whatever it said instead of it.
    pub async fn open(
        &self,
        session: &impl Transport,
        controller: &str,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Opened, RemoteError> {
        let mut cmd = CmdSwitch::Plain;
        let mut greeting = self.greet(session, controller, cmd).await?;
        if let Greeting::Shell = greeting {
            cmd = CmdSwitch::Doubled;
            greeting = self.greet(session, controller, cmd).await?;
        }
        let opened = match greeting {
            Greeting::Answer(channel, answer) if self.is_from_it(&answer) => {
                return Ok(Opened {
                    channel,
                    answer,
                    delivery: Delivery::Reused,
                });
            }
            Greeting::Answer(..) => {
                let delivery = self.deliver(session, progress).await?;
                (self.greet(session, controller, cmd).await?, delivery)
            }
            Greeting::Silence(_) | Greeting::Shell => {
                self.check_system(session).await?;
                let delivery = self.deliver(session, progress).await?;
                (self.greet(session, controller, cmd).await?, delivery)
            }
        };
        let said = match opened {
            (Greeting::Answer(channel, answer), delivery) => {
                return Ok(Opened {
                    channel,
                    answer,
                    delivery,
                });
            }
            (Greeting::Silence(said), _) => said,
            (Greeting::Shell, _) => "a shell that runs nothing".to_owned(),
        };
        Err(RemoteError::AgentBroken {
            place: session.place().clone(),
            path: self.path().native(),
            answer: said,
        })
    }

    /// Whether this agent said it, and not a damaged one in its place.
    fn is_from_it(&self, answer: &ToController) -> bool {
        match answer {
            ToController::Hello { agent, .. } => *agent == self.agent.hash,
            _ => true,
        }
    }

    /// Before anything is put on a host for the first time: it must be one that
    /// this agent runs on. A host that does not say what it is, is believed to be
    /// what the file says.
    async fn check_system(&self, session: &impl Transport) -> Result<(), RemoteError> {
        let Some(found) = session.system().await? else {
            return Ok(());
        };
        let ours = binary::architecture(&self.agent.path);
        let other = |theirs: &String| ours.is_some_and(|ours| ours != theirs);
        if found.os == self.agent.os && !found.architecture.as_ref().is_some_and(other) {
            return Ok(());
        }
        let words = |os: HostOs, architecture: Option<&str>| match architecture {
            Some(architecture) => format!("{os}, {architecture}"),
            None => os.to_string(),
        };
        Err(RemoteError::WrongSystem {
            place: session.place().clone(),
            other_os: found.os != self.agent.os,
            found: words(found.os, found.architecture.as_deref()),
            agent: words(self.agent.os, ours),
        })
    }

    async fn greet(
        &self,
        session: &impl Transport,
        controller: &str,
        cmd: CmdSwitch,
    ) -> Result<Greeting, RemoteError> {
        let process = session.start(&self.line_with(cmd, &["channel"])).await?;
        let mut channel = Channel::new(process);
        let hello = ToAgent::Hello {
            protocol: PROTOCOL,
            controller: controller.to_owned(),
        };
        // A program that is not there ends before it can be spoken to; its end
        // says more than this error.
        drop(channel.send(&hello).await);
        let began = Instant::now();
        loop {
            return match tokio::time::timeout(LOOK, channel.next()).await {
                Ok(Ok(Incoming::Message(answer))) => Ok(Greeting::Answer(channel, answer)),
                Ok(Ok(Incoming::End(ChannelEnd::Cut))) => Err(RemoteError::Lost {
                    place: session.place().clone(),
                    step: "starting the agent",
                    source: None,
                }),
                Ok(Err(error)) => Err(error),
                // A shell repeats what it was told, or complains of it.
                Err(_) if channel.noise().any(|line| line.contains(PREFIX.trim_end())) => {
                    Ok(Greeting::Shell)
                }
                Err(_) if began.elapsed() < GREETING => continue,
                Ok(Ok(Incoming::End(_))) | Err(_) => {
                    let noise: Vec<_> = channel.noise().collect();
                    Ok(Greeting::Silence(noise.join("\n")))
                }
            };
        }
    }

    /// Makes sure that it is there. One that is there and is something else is
    /// replaced.
    pub async fn deliver(
        &self,
        session: &impl Transport,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Delivery, RemoteError> {
        session.deliver(&self.agent, &self.path(), progress).await
    }

    /// Takes the agent away, and the folders above it that are empty then and
    /// that only casement uses. Its process must have ended.
    pub async fn remove(&self, session: &impl Transport) -> Result<(), RemoteError> {
        session.take_away(&self.path()).await
    }

    /// Brings a blob to the host's store. Returns the bytes that were sent.
    pub async fn put_blob(
        &self,
        sftp: &Sftp,
        from: &Path,
        hash: &Sha256,
        progress: impl FnMut(Progress),
    ) -> Result<u64, RemoteError> {
        sftp.make_folders(&self.places.blobs).await?;
        let to = self.places.blob(hash);
        sftp.put_blob(from, hash, &to, progress).await
    }
}
