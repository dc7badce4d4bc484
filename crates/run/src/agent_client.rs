//! One host: its session, its agent, and the conversation with it.

#[path = "link/again.rs"]
mod again;
#[path = "agent_client/deliver.rs"]
mod bring;

use std::collections::BTreeMap;
use std::time::Duration;

use casement_remote::{Agent, AgentHome, Channel, Connection, HostOs, Incoming, Reconnect, Way};
use casement_resource::wire::{
    Event, HostFacts, ObservedStep, Outcome, RemoveWhat, Tally, ToAgent, ToController, What,
};
use casement_resource::{
    Diff, HostPath, NodeDocument, Resource, ResourceId, RunId, SecretName, Sha256,
};
use tokio::time::timeout;

use crate::error::RunError;
use crate::first_contact::first_contact;
use crate::secrets::{NoSecrets, Secrets};
use crate::stop::Stop;

/// How long a host may take over a good-bye.
const GOOD_BYE: Duration = Duration::from_secs(5);

/// The agents that can be brought to hosts, one for each system.
#[derive(Debug, Clone)]
pub struct Agents {
    /// `casement-node.exe`.
    pub windows: Agent,
    /// `casement-node`; only needed for managed Linux hosts.
    pub linux: Option<Agent>,
}

/// An open conversation with one host's agent.
pub struct Link {
    way: Way,
    home: AgentHome,
    session: Connection,
    channel: Channel,
    controller: String,
    facts: HostFacts,
    stop: Stop,
}

/// What a document would change on a host.
#[derive(Debug, Clone)]
pub struct Observed {
    /// One for each step.
    pub steps: Vec<ObservedStep>,
    /// Blobs that the host lacks and a change needs.
    pub missing: Vec<Sha256>,
    /// Whether the agent keeps the host to this document.
    pub kept: Diff,
}

impl Observed {
    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.kept.is_right() && self.steps.iter().all(ObservedStep::is_right)
    }
}

impl Link {
    /// Connects, brings the agent where it is missing, and says hello. The file
    /// says which system the host runs, so that nothing has to be guessed.
    pub async fn open(
        way: &Way,
        os: HostOs,
        agents: &Agents,
        controller: &str,
    ) -> Result<Self, RunError> {
        let agent = match os {
            HostOs::Windows => agents.windows.clone(),
            HostOs::Linux => agents.linux.clone().ok_or_else(|| RunError::NoAgent {
                host: way.name().to_owned(),
                os,
            })?,
        };
        Self::open_at(way, AgentHome::new(agent), controller).await
    }

    /// The same for an agent that lives in a place of its own.
    pub async fn open_at(way: &Way, home: AgentHome, controller: &str) -> Result<Self, RunError> {
        let (session, opened) = first_contact(way, &home, controller).await?;
        let mut link = Self {
            way: way.clone(),
            home,
            session,
            channel: opened.channel,
            controller: controller.to_owned(),
            facts: unknown_facts(),
            stop: Stop::default(),
        };
        link.take_hello(*opened.answer)?;
        Ok(link)
    }

    /// Who may stop the runs on this host from now on.
    pub fn heed(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// What the host is.
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// The host's name in the spec.
    pub fn name(&self) -> &str {
        self.way.name()
    }

    fn take_hello(&mut self, message: ToController) -> Result<(), RunError> {
        match message {
            ToController::Hello { facts, .. } => {
                self.facts = facts;
                Ok(())
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// Compares a document with the host; changes nothing.
    pub async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        let ask = ToAgent::Observe {
            document: document.clone(),
        };
        match self.ask(&ask).await? {
            ToController::Observed {
                steps,
                missing_blobs,
                kept,
            } => Ok(Observed {
                steps,
                missing: missing_blobs,
                kept,
            }),
            other => Err(self.unexpected(other)),
        }
    }

    /// The end of a text file on the host; none if it is not there.
    pub async fn read(&mut self, path: &HostPath, last: u32) -> Result<Option<String>, RunError> {
        Ok(self.read_since(path, last, None).await?.0)
    }

    /// The same of what came after so many bytes; and where that ends.
    pub async fn read_since(
        &mut self,
        path: &HostPath,
        last: u32,
        since: Option<u64>,
    ) -> Result<(Option<String>, u64), RunError> {
        let path = path.clone();
        let ask = ToAgent::Read { path, last, since };
        match self.ask(&ask).await? {
            ToController::Text { text, end } => Ok((text, end)),
            other => Err(self.unexpected(other)),
        }
    }

    /// Everything that the agent can tell for somebody who looks for a cause: names
    /// of files, and what they hold.
    pub async fn collect(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        self.say_again(&[&ToAgent::Collect], Reconnect::default())
            .await?;
        let mut parts = BTreeMap::<String, String>::new();
        loop {
            match self.hear().await? {
                ToController::Part { name, text } => {
                    parts.entry(name).or_default().push_str(&text);
                }
                ToController::Collected => return Ok(parts),
                other => return Err(self.unexpected(other)),
            }
        }
    }

    /// Makes the host what the document says; comes back after every cut.
    pub async fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        tell: impl FnMut(&Event),
    ) -> Result<Tally, RunError> {
        let ask = ToAgent::Converge {
            run: run.clone(),
            document: document.clone(),
        };
        self.follow(run, &ask, secrets, tell).await
    }

    /// Takes back everything that casement made on the host.
    pub async fn remove(
        &mut self,
        run: &RunId,
        tell: impl FnMut(&Event),
    ) -> Result<Tally, RunError> {
        let ask = ToAgent::Remove {
            run: run.clone(),
            what: RemoveWhat::All,
        };
        self.follow(run, &ask, &NoSecrets, tell).await
    }

    /// Takes the agent's own service, its state and the agent itself away, after
    /// everything else.
    pub async fn leave(mut self) -> Result<(), RunError> {
        match self.ask(&ToAgent::Retire).await? {
            ToController::Retired => {}
            other => return Err(self.unexpected(other)),
        }
        if self.say(&ToAgent::Bye).await.is_ok() {
            // Its program can be deleted when its process has ended.
            while self.hear().await.is_ok() {}
        }
        self.take_agent_away().await?;
        self.session.close().await;
        Ok(())
    }

    /// Says good-bye; a host that does not answer it any more is left alone.
    pub async fn close(mut self) {
        let said = async move {
            if self.say(&ToAgent::Bye).await.is_ok() {
                let _ = self.hear().await;
            }
            self.session.close().await;
        };
        // What is cut off in the middle is closed by being dropped.
        let _ = timeout(GOOD_BYE, said).await;
    }

    /// Hears a run to its end. The same question after a cut continues the same
    /// run, so it is simply asked again; events that were heard are skipped.
    async fn follow(
        &mut self,
        run: &RunId,
        ask: &ToAgent,
        secrets: &impl Secrets,
        mut tell: impl FnMut(&Event),
    ) -> Result<Tally, RunError> {
        let mut next = 1;
        let mut stop = self.stop.clone();
        let halt = ToAgent::Stop { run: run.clone() };
        // All that is said again after a cut.
        let mut words = vec![ask];
        let mut patience = Reconnect::default();
        self.say_again(&words, patience).await?;
        loop {
            let heard = tokio::select! {
                heard = self.hear() => heard,
                () = stop.asked(), if words.len() == 1 => {
                    words.push(&halt);
                    match self.say(&halt).await {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    }
                }
            };
            let event = match heard {
                Ok(ToController::Event(event)) if event.run == *run => event,
                // The end of one that was stopped before.
                Ok(ToController::Event(_)) => continue,
                Err(RunError::Cut { .. }) => {
                    self.reopen(patience).await?;
                    self.say_again(&words, patience).await?;
                    continue;
                }
                heard => return Err(self.unexpected(heard?)),
            };
            // The last one is heeded again: what was sent for it may have gone with the
            // cut.
            if event.sequence + 1 < next {
                continue;
            }
            if event.sequence >= next {
                next = event.sequence + 1;
                tell(&event);
            }
            match event.what {
                What::StepBegan { ref id, .. } => patience = patience_with(ask, id),
                What::NeedSecret { names, .. } => self.reveal(run, &names, secrets).await?,
                What::Finished { outcome, tally } => return self.ended(outcome, tally),
                _ => {}
            }
        }
    }

    fn ended(&self, outcome: Outcome, tally: Tally) -> Result<Tally, RunError> {
        let host = self.name().to_owned();
        match outcome {
            Outcome::Done => Ok(tally),
            Outcome::Failed => Err(RunError::Failed { host, tally }),
            Outcome::Stopped => Err(RunError::Stopped { host }),
        }
    }

    /// Sends what the host asked for. If there is nothing to send, the run is
    /// stopped: it would wait for ever.
    async fn reveal(
        &mut self,
        run: &RunId,
        names: &[SecretName],
        secrets: &impl Secrets,
    ) -> Result<(), RunError> {
        let revealed = secrets.reveal(names).await.and_then(|values| {
            let unknown = names.iter().find(|name| !values.contains_key(*name));
            unknown.map_or(Ok(values), |name| {
                Err(RunError::NoSecret {
                    host: self.name().to_owned(),
                    name: name.to_string(),
                })
            })
        });
        let said = match revealed {
            Ok(values) => self.say(&ToAgent::Secrets { values }).await,
            Err(error) => {
                let _ = self.say(&ToAgent::Stop { run: run.clone() }).await;
                return Err(error);
            }
        };
        // A cut here is noticed, and mended, by whoever listens.
        match said {
            Err(RunError::Cut { .. }) => Ok(()),
            said => said,
        }
    }

    async fn say(&mut self, message: &ToAgent) -> Result<(), RunError> {
        self.channel.send(message).await.map_err(|error| {
            if error.is_transient() {
                self.cut()
            } else {
                error.into()
            }
        })
    }

    async fn hear(&mut self) -> Result<ToController, RunError> {
        match self.channel.next().await? {
            Incoming::Message(message) => Ok(*message),
            Incoming::End(_) => Err(self.cut()),
        }
    }

    fn cut(&self) -> RunError {
        let noise: Vec<&str> = self.channel.noise().collect();
        RunError::Cut {
            host: self.name().to_owned(),
            said: noise.join("\n"),
        }
    }

    fn unexpected(&self, message: ToController) -> RunError {
        let host = self.name().to_owned();
        match message {
            ToController::Failed(failure) => RunError::Agent {
                host,
                failure: Box::new(failure),
            },
            ToController::Refused(busy) => RunError::Busy {
                host,
                busy: Box::new(busy),
            },
            other => RunError::Unexpected {
                host,
                message: format!("{other:?}"),
            },
        }
    }
}

/// How long a host may be away while a step is made: a network that is being
/// made takes a minute, a reboot as long as the document says.
fn patience_with(ask: &ToAgent, id: &ResourceId) -> Reconnect {
    let patience = Reconnect::default();
    let ToAgent::Converge { document, .. } = ask else {
        return patience;
    };
    match document.step(id).map(|step| &step.resource) {
        Some(Resource::Reboot(reboot)) => Reconnect {
            deadline: reboot.longest().max(patience.deadline),
            ..patience
        },
        _ => patience,
    }
}

/// Until the agent has said hello.
fn unknown_facts() -> HostFacts {
    HostFacts {
        os: casement_resource::wire::OperatingSystem::Windows,
        product: String::new(),
        version: String::new(),
        architecture: String::new(),
        hostname: String::new(),
        service_manager: None,
        interfaces: Vec::new(),
    }
}
