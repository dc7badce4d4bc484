//! Makes hosts nodes: prepare, join, network, ready.

use casement_plan::{ClusterFacts, Inputs, linux, windows};
use casement_resource::wire::{Event, Tally};
use casement_resource::{NodeDocument, Stage};
use casement_spec::{Cluster, Host as HostSpec};

use crate::api::Api;
use crate::error::RunError;
use crate::host::Host;
use crate::job::{Done, Job};
use crate::link::Observed;
use crate::many::at_once;
use crate::secrets::{Given, NoSecrets, Secrets, Tokens};
use crate::source::{Blobs, Bringing};
use crate::stop::Stop;
use crate::unavailable::Unavailable;

/// What happens, for whoever shows it.
#[derive(Debug)]
pub enum Happening<'a> {
    /// A host's agent did something.
    Step {
        /// The host.
        host: &'a str,
        /// In which part of the run.
        stage: Stage,
        /// What.
        event: &'a Event,
    },
    /// A host was compared with a document.
    Seen {
        /// The host.
        host: &'a str,
        /// In which part of the run.
        stage: Stage,
        /// What is right, and what will change.
        observed: &'a Observed,
    },
    /// Files come to a host.
    Bringing {
        /// The host.
        host: &'a str,
        /// How.
        how: Bringing<'a>,
    },
    /// Something is waited for.
    Waiting {
        /// The host.
        host: &'a str,
        /// For what, and why it is not there yet.
        reason: String,
    },
    /// A part of the run is finished on a host.
    Finished {
        /// The host.
        host: &'a str,
        /// Which part.
        stage: Stage,
        /// How much it was.
        tally: Tally,
    },
    /// The Node is Ready and may have pods.
    Ready {
        /// The host.
        host: &'a str,
    },
    /// A host is through, or goes no further; others may go on for long.
    Ended {
        /// The host.
        host: &'a str,
        /// How many things were changed, or why it did not go on.
        result: &'a Result<u32, RunError>,
    },
}

/// Everything that an apply needs besides the hosts.
pub struct Apply<'a, A> {
    /// What the user wants.
    pub cluster: &'a Cluster,
    /// What was read for it.
    pub inputs: &'a Inputs,
    /// The files behind it.
    pub blobs: &'a Blobs,
    /// The cluster.
    pub api: &'a A,
    /// The name of this run; each stage on a host adds its own.
    pub run: &'a str,
    /// Heeded between the parts of a run; the hosts heed it within them.
    pub stop: &'a Stop,
    /// How many hosts may be away at once.
    pub unavailable: Unavailable,
    /// Hears what happens.
    pub tell: &'a (dyn Fn(Happening<'_>) + Sync),
}

/// How it ended for one host.
#[derive(Debug)]
pub struct HostOutcome {
    /// The host.
    pub host: String,
    /// How many things were changed, or why it did not go on.
    pub result: Result<u32, RunError>,
}

impl<A: Api> Apply<'_, A> {
    /// Carries it out. A host that fails does not stop the others; routes are
    /// made between those that have joined.
    pub async fn carry_out<H: Host>(&self, hosts: &mut [H]) -> Result<Vec<HostOutcome>, RunError> {
        let before = self.api.facts().await?;
        let joined = at_once(hosts.iter_mut().map(|host| async {
            let joined = self.to_node(host, &before).await;
            if joined.is_err() {
                self.ended(host.name(), &joined);
            }
            joined
        }));
        let joined = joined.await;
        let nodes = hosts
            .iter()
            .zip(&joined)
            .filter(|(_, joined)| joined.is_ok());
        let nodes: Vec<&str> = nodes.map(|(host, _)| host.name()).collect();
        self.api.sweep(&nodes).await?;
        let after = self.api.facts().await?;
        let finished = hosts.iter_mut().zip(joined).map(|(host, joined)| async {
            let result = match joined {
                Ok(changed) => {
                    let more = self.to_ready(host, &after).await;
                    let result = more.map(|more| changed + more);
                    self.ended(host.name(), &result);
                    result
                }
                Err(error) => Err(error),
            };
            HostOutcome {
                host: host.name().to_owned(),
                result,
            }
        });
        Ok(at_once(finished).await)
    }

    fn ended(&self, host: &str, result: &Result<u32, RunError>) {
        (self.tell)(Happening::Ended { host, result });
    }

    fn spec(&self, name: &str) -> Result<&HostSpec, RunError> {
        let mut hosts = self.cluster.spec.hosts.iter();
        hosts
            .find(|host| host.name.as_str() == name)
            .ok_or_else(|| RunError::NotInSpec(name.to_owned()))
    }

    /// Stages A and B; Linux hosts are nodes already.
    async fn to_node<H: Host>(&self, host: &mut H, facts: &ClusterFacts) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        if !spec.os.is_windows() {
            return Ok(0);
        }
        let prepare = windows::prepare(self.cluster, spec, self.inputs)?;
        let given = Given(&self.inputs.secrets);
        let prepared = self.converge(host, &prepare, &given).await?.changed;
        let join = windows::join(self.cluster, spec, facts)?;
        let joined = self.join(host, &join).await?;
        let name = spec.name.as_str();
        self.api.joined(name).await?;
        if joined > 0 {
            self.api.schedulable(name, false).await?;
        }
        self.api.taint(name, &spec.taints).await?;
        Ok(prepared + joined)
    }

    /// A token is made only for a host that asks for it, and never outlives the
    /// join, whatever happens.
    async fn join<H: Host>(&self, host: &mut H, document: &NodeDocument) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let tokens = Tokens::new(self.api, &name);
        let waiting = |reason| {
            (self.tell)(Happening::Waiting {
                host: &name,
                reason,
            })
        };
        let joined = tokio::select! {
            biased;
            () = self.stand_by(&name, &waiting) => Ok(Done::default()),
            joined = self.converge(host, document, &tokens) => joined,
        };
        let revoked = tokens.revoke().await;
        // The first error is the one to tell.
        let changed = joined?.changed;
        revoked?;
        Ok(changed)
    }

    /// Watches the joining node's certificate request; never ends. What keeps it
    /// from watching is told and is no reason to give up the join: most clusters
    /// approve by themselves.
    async fn stand_by(&self, name: &str, tell: &(dyn Fn(String) + Sync)) {
        if let Err(error) = self.api.attend(name, tell).await {
            tell(format!("its certificate request is not watched: {error}"));
        }
        std::future::pending().await
    }

    /// Stage C, and then the Node's own word that it is ready.
    async fn to_ready<H: Host>(&self, host: &mut H, facts: &ClusterFacts) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let name = spec.name.as_str();
        let document = if spec.os.is_windows() {
            windows::network(self.cluster, spec, facts)?
        } else {
            linux::network(self.cluster, spec, facts)?
        };
        // It counts as away until its Node is Ready again.
        let done = self.converge(host, &document, &NoSecrets).await?;
        let changed = done.changed;
        if !spec.os.is_windows() {
            return Ok(changed);
        }
        let waiting = |reason| (self.tell)(Happening::Waiting { host: name, reason });
        self.api.ready(name, &waiting).await?;
        let labels = spec.labels.iter();
        let labels = labels.map(|(key, value)| (key.to_string(), value.to_string()));
        self.api.label(name, &labels.collect()).await?;
        self.api.schedulable(name, true).await?;
        if changed > 0 {
            (self.tell)(Happening::Ready { host: name });
        }
        Ok(changed)
    }

    async fn converge<H: Host>(
        &self,
        host: &mut H,
        document: &NodeDocument,
        secrets: &impl Secrets,
    ) -> Result<Done<'_>, RunError> {
        let job = Job {
            blobs: self.blobs,
            run: self.run,
            stop: self.stop,
            unavailable: &self.unavailable,
            tell: self.tell,
        };
        job.converge(host, document, secrets).await
    }
}

#[cfg(test)]
mod tests;
