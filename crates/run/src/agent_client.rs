//! The controller's side of one agent: session, control channel, requests.

mod deliver;
mod resume;

use std::collections::BTreeMap;
use std::time::Duration;

use casement_remote::{
    Agent, AgentHome, Channel, Connection, HostEndpoint, HostOs, Incoming, Reconnect,
};
use casement_resource::wire::{
    Event, EventKind, HostFacts, ObservedStep, Outcome, RemoveScope, Tally, ToAgent, ToController,
};
use casement_resource::{
    Diff, HostPath, NodeDocument, Resource, ResourceId, RunId, SecretName, Sha256,
};
use tokio::time::timeout;

use self::deliver::Transferred;
use crate::blob_source::{BlobProgress, Blobs};
use crate::cancel::CancelToken;
use crate::connect::connect;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::secrets::{NoSecrets, Secrets};

/// How long a host may take to acknowledge the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The agent executables for delivery, one per operating system.
#[derive(Debug, Clone)]
pub struct Agents {
    /// `casement-node.exe`.
    pub windows: Agent,
    /// `casement-node`; only needed for managed Linux hosts.
    pub linux: Option<Agent>,
}

pub struct AgentClient {
    endpoint: HostEndpoint,
    home: AgentHome,
    session: Connection,
    channel: Channel,
    controller: String,
    facts: HostFacts,
    cancel: CancelToken,
}

/// The differences between a document and a host.
#[derive(Debug, Clone)]
pub struct Observed {
    /// One per step of the document.
    pub steps: Vec<ObservedStep>,
    /// Blobs that pending changes need and the host does not have.
    pub missing: Vec<Sha256>,
    /// The document that the agent reconciles the host with, compared to this one.
    pub kept: Diff,
}

impl Observed {
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.kept.in_sync() && self.steps.iter().all(ObservedStep::in_sync)
    }
}

impl AgentClient {
    /// Connects, delivers the agent if it is missing, and starts it. The operating system
    /// comes from the file, not from a guess.
    pub async fn open(
        endpoint: &HostEndpoint,
        os: HostOs,
        agents: &Agents,
        controller: &str,
    ) -> Result<Self, RunError> {
        let agent = match os {
            HostOs::Windows => agents.windows.clone(),
            HostOs::Linux => agents.linux.clone().ok_or_else(|| RunError::NoAgent {
                host: endpoint.name().to_owned(),
                os,
            })?,
        };
        Self::open_at(endpoint, AgentHome::new(agent), controller).await
    }

    /// The same for an agent with its own folders.
    pub async fn open_at(
        endpoint: &HostEndpoint,
        home: AgentHome,
        controller: &str,
    ) -> Result<Self, RunError> {
        let (session, opened) = connect(endpoint, &home, controller).await?;
        let mut client = Self {
            endpoint: endpoint.clone(),
            home,
            session,
            channel: opened.channel,
            controller: controller.to_owned(),
            facts: unknown_facts(),
            cancel: CancelToken::default(),
        };
        client.accept_hello(*opened.first_message)?;
        Ok(client)
    }

    /// Cancels the later runs on this host.
    pub fn set_cancel_token(&mut self, cancel: CancelToken) {
        self.cancel = cancel;
    }

    fn accept_hello(&mut self, message: ToController) -> Result<(), RunError> {
        match message {
            ToController::Hello { facts, .. } => {
                self.facts = facts;
                Ok(())
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// The last `last` bytes of a text file on the host; `None` if it does not exist.
    pub async fn read(&mut self, path: &HostPath, last: u32) -> Result<Option<String>, RunError> {
        Ok(self.read_since(path, last, None).await?.0)
    }

    /// The same for the part after `since` bytes, with the offset of its end.
    pub async fn read_since(
        &mut self,
        path: &HostPath,
        last: u32,
        since: Option<u64>,
    ) -> Result<(Option<String>, u64), RunError> {
        let path = path.clone();
        let request = ToAgent::Read { path, last, since };
        match self.request(&request).await? {
            ToController::Text { text, end } => Ok((text, end)),
            other => Err(self.unexpected(other)),
        }
    }

    /// Diagnostic files of the host: name and content.
    pub async fn collect(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        self.send_all(&[&ToAgent::Collect], Reconnect::default())
            .await?;
        let mut parts = BTreeMap::<String, String>::new();
        loop {
            match self.receive().await? {
                ToController::Part { name, text } => {
                    parts.entry(name).or_default().push_str(&text);
                }
                ToController::Collected => return Ok(parts),
                other => return Err(self.unexpected(other)),
            }
        }
    }

    /// Does not wait for a host that stopped responding.
    pub async fn close(mut self) {
        let closed = async move {
            if self.send(&ToAgent::Bye).await.is_ok() {
                let _ = self.receive().await;
            }
            self.session.close().await;
        };
        // On a timeout, dropping the session closes it.
        let _ = timeout(CLOSE_TIMEOUT, closed).await;
    }

    /// Follows a run to its end. The agent continues a run when it gets the same request
    /// again, so after a connection loss the request is repeated, and events that were
    /// already received are skipped.
    async fn follow(
        &mut self,
        run: &RunId,
        request: &ToAgent,
        secrets: &impl Secrets,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        let mut next = 1;
        let mut cancel = self.cancel.clone();
        let cancel_request = ToAgent::Stop { run: run.clone() };
        // Repeated after a connection loss.
        let mut requests = vec![request];
        let mut reconnect = Reconnect::default();
        self.send_all(&requests, reconnect).await?;
        loop {
            let received = tokio::select! {
                received = self.receive() => received,
                () = cancel.canceled(), if requests.len() == 1 => {
                    requests.push(&cancel_request);
                    match self.send(&cancel_request).await {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    }
                }
            };
            let event = match received {
                Ok(ToController::Event(event)) if event.run == *run => event,
                // The end of an earlier, canceled run.
                Ok(ToController::Event(_)) => continue,
                Err(RunError::ConnectionLost { .. }) => {
                    self.reopen(reconnect).await?;
                    self.send_all(&requests, reconnect).await?;
                    continue;
                }
                received => return Err(self.unexpected(received?)),
            };
            // The last event is handled again: the response to it may have been lost with
            // the connection.
            if event.sequence + 1 < next {
                continue;
            }
            if event.sequence >= next {
                next = event.sequence + 1;
                on_event(&event);
            }
            match event.kind {
                EventKind::StepBegan { ref id, .. } => reconnect = reconnect_during(request, id),
                EventKind::NeedSecret { names, .. } => self.reveal(run, &names, secrets).await?,
                EventKind::Finished { outcome, tally } => return self.ended(outcome, tally),
                _ => {}
            }
        }
    }

    fn ended(&self, outcome: Outcome, tally: Tally) -> Result<Tally, RunError> {
        let host = self.name().to_owned();
        match outcome {
            Outcome::Done => Ok(tally),
            Outcome::Failed => Err(RunError::Failed { host, tally }),
            Outcome::Stopped => Err(RunError::Canceled { host }),
        }
    }

    /// Sends the requested secrets. If one is missing, the run is canceled: the agent
    /// would wait for it forever.
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
        let sent = match revealed {
            Ok(values) => self.send(&ToAgent::Secrets { values }).await,
            Err(error) => {
                let _ = self.send(&ToAgent::Stop { run: run.clone() }).await;
                return Err(error);
            }
        };
        // `follow` notices a connection loss and reconnects.
        match sent {
            Err(RunError::ConnectionLost { .. }) => Ok(()),
            sent => sent,
        }
    }

    async fn send(&mut self, message: &ToAgent) -> Result<(), RunError> {
        self.channel.send(message).await.map_err(|error| {
            if error.is_transient() {
                self.connection_lost()
            } else {
                error.into()
            }
        })
    }

    async fn receive(&mut self) -> Result<ToController, RunError> {
        match self.channel.next().await? {
            Incoming::Message(message) => Ok(*message),
            Incoming::End(_) => Err(self.connection_lost()),
        }
    }

    fn connection_lost(&self) -> RunError {
        let noise: Vec<&str> = self.channel.noise().collect();
        RunError::ConnectionLost {
            host: self.name().to_owned(),
            noise: noise.join("\n"),
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

impl HostAgent for AgentClient {
    fn name(&self) -> &str {
        self.endpoint.name()
    }

    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        let request = ToAgent::Observe {
            document: document.clone(),
        };
        match self.request(&request).await? {
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

    async fn deliver(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        on_progress: &(dyn Fn(BlobProgress<'_>) + Sync),
    ) -> Result<(), RunError> {
        let mut remaining = Vec::new();
        for hash in missing {
            let unknown = || RunError::NoBlob {
                host: self.name().to_owned(),
                sha256: hash.to_string(),
            };
            let source = blobs.get(hash).ok_or_else(unknown)?;
            remaining.push((*hash, source.path.as_path()));
        }
        if remaining.is_empty() {
            return Ok(());
        }
        let mut transferred = Transferred::default();
        let pulled = self
            .pull_from_mirror(missing, blobs, &mut transferred, on_progress)
            .await?;
        remaining.retain(|(hash, _)| !pulled.contains(hash));
        self.send_files(&remaining, &mut transferred, on_progress)
            .await?;
        let Transferred { pulled, sent, .. } = transferred;
        on_progress(BlobProgress::Delivered { pulled, sent });
        Ok(())
    }

    async fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        let request = ToAgent::Converge {
            run: run.clone(),
            document: document.clone(),
        };
        self.follow(run, &request, secrets, on_event).await
    }

    async fn remove(
        &mut self,
        run: &RunId,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        let request = ToAgent::Remove {
            run: run.clone(),
            scope: RemoveScope::All,
        };
        self.follow(run, &request, &NoSecrets, on_event).await
    }

    async fn retire(mut self) -> Result<(), RunError> {
        match self.request(&ToAgent::Retire).await? {
            ToController::Retired => {}
            other => return Err(self.unexpected(other)),
        }
        if self.send(&ToAgent::Bye).await.is_ok() {
            // Windows deletes an executable only after its process has exited.
            while self.receive().await.is_ok() {}
        }
        self.delete_agent().await?;
        self.session.close().await;
        Ok(())
    }
}

/// How long a host may be unreachable during a step: about a minute while its network is
/// created, as long as the document allows during a reboot.
fn reconnect_during(request: &ToAgent, id: &ResourceId) -> Reconnect {
    let default = Reconnect::default();
    let ToAgent::Converge { document, .. } = request else {
        return default;
    };
    match document.step(id).map(|step| &step.resource) {
        Some(Resource::Reboot(reboot)) => Reconnect {
            timeout: reboot.max_duration().max(default.timeout),
            ..default
        },
        _ => default,
    }
}

/// Before the agent's `hello`.
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
