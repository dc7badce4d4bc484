//! Turns hosts into nodes: prepare, join, network, Ready.

use casement_plan::{ClusterFacts, Inputs, NodeFacts, linux, windows};
use casement_resource::wire::{Event, Tally};
use casement_resource::{NodeDocument, Stage};
use casement_spec::{Cluster, Host as HostSpec};

use crate::agent_client::Observed;
use crate::blob_source::{BlobProgress, Blobs};
use crate::cancel::CancelToken;
use crate::cluster_api::ClusterApi;
use crate::concurrency::Concurrency;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::job::Job;
use crate::run_host::RunHost;
use crate::secrets::{KnownSecrets, NoSecrets, Tokens};
use crate::unavailable::{UnavailableLimit, UnavailablePermit};

#[derive(Debug)]
pub enum RunEvent<'a> {
    Step {
        host: &'a str,
        stage: Stage,
        event: &'a Event,
    },
    Observed {
        host: &'a str,
        document: &'a NodeDocument,
        observed: &'a Observed,
    },
    BlobProgress {
        host: &'a str,
        progress: BlobProgress<'a>,
    },
    Waiting {
        host: &'a str,
        reason: String,
    },
    /// One stage of one host.
    Finished {
        host: &'a str,
        stage: Stage,
        tally: Tally,
    },
    /// The Node is Ready and schedulable.
    Ready {
        host: &'a str,
    },
    /// No further stage runs on this host.
    Ended {
        host: &'a str,
        /// The number of changes.
        result: &'a Result<u32, RunError>,
    },
}

pub struct Apply<'a, A> {
    pub cluster: &'a Cluster,
    pub inputs: &'a Inputs,
    pub blobs: &'a Blobs,
    pub api: &'a A,
    /// The cluster before anything was changed, as the user has seen it in the plan.
    pub facts: &'a ClusterFacts,
    /// The prefix of the run ids on hosts; each stage appends its name.
    pub run: &'a str,
    /// Ends waits at once; a host that is being changed finishes its current step.
    pub cancel: &'a CancelToken,
    pub concurrency: Concurrency,
    pub unavailable: UnavailableLimit,
    pub on_event: &'a (dyn Fn(RunEvent<'_>) + Sync),
}

#[derive(Debug)]
pub struct ApplyReport {
    /// In the order of the hosts.
    pub hosts: Vec<HostOutcome>,
    /// The cluster as it was read last.
    pub facts: ClusterFacts,
}

#[derive(Debug)]
pub struct HostOutcome {
    pub host: String,
    /// The number of changes.
    pub result: Result<u32, RunError>,
}

/// Whether a host has further stages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Nothing,
}

struct Member<'a, H> {
    host: RunHost<'a, H>,
    windows: bool,
    result: Result<u32, RunError>,
}

impl<A: ClusterApi> Apply<'_, A> {
    /// A failing host does not stop the others; routes are created between those that
    /// have joined.
    pub async fn run<H: HostAgent>(
        &self,
        hosts: Vec<RunHost<'_, H>>,
    ) -> Result<ApplyReport, RunError> {
        let members = hosts.into_iter().map(|host| {
            let spec = self.spec(host.agent.name());
            Member {
                windows: spec.as_ref().is_ok_and(|spec| spec.os.is_windows()),
                result: spec.map(|_| 0),
                host,
            }
        });
        let mut members: Vec<Member<'_, H>> = members.collect();
        let (canceled, facts) = match self.stages(&mut members).await {
            Err(RunError::Canceled { .. }) => (true, self.facts.clone()),
            ended => (false, ended?),
        };
        let outcomes = members.into_iter().map(|member| {
            let host = member.host.agent.name().to_owned();
            let result = match member.result {
                Ok(_) if canceled => {
                    let result = Err(RunError::Canceled { host: host.clone() });
                    self.ended(&host, &result);
                    result
                }
                result => result,
            };
            HostOutcome { host, result }
        });
        Ok(ApplyReport {
            hosts: outcomes.collect(),
            facts,
        })
    }

    /// The Linux side of the network comes before the Windows side, twice: what is known
    /// before the first Windows host joins, then the routes to the joined hosts, whose pod
    /// networks are not known earlier, before the first of them gets its network.
    ///
    /// Returns the facts after the joins. Those before may be minutes old, as the user has
    /// read the plan meanwhile, but nothing relies on them alone: a change of the cluster
    /// tests the value that it replaces, a join compares the CA with its pin, a wait watches
    /// the Node itself, and the documents of the network are planned again.
    async fn stages<H: HostAgent>(
        &self,
        members: &mut [Member<'_, H>],
    ) -> Result<ClusterFacts, RunError> {
        // A separate run id: the agent would take the same one for a finished run.
        let run = format!("{}-early", self.run);
        let early =
            async |host: &mut RunHost<'_, H>| self.linux_network(host, self.facts, &run).await;
        self.run_stage(members, false, Next::More, early).await;
        let join = async |host: &mut RunHost<'_, H>| self.prepare_and_join(host).await;
        self.run_stage(members, true, Next::More, join).await;
        let nodes = members.iter().filter(|member| member.result.is_ok());
        let nodes: Vec<&str> = nodes.map(|member| member.host.agent.name()).collect();
        self.unless_canceled(self.api.delete_leftover_tokens(&nodes))
            .await?;
        let facts = self.unless_canceled(self.api.facts()).await?;
        let routes =
            async |host: &mut RunHost<'_, H>| self.linux_network(host, &facts, self.run).await;
        self.run_stage(members, false, Next::Nothing, routes).await;
        let network = async |host: &mut RunHost<'_, H>| self.network_and_ready(host, &facts).await;
        self.run_stage(members, true, Next::Nothing, network).await;
        Ok(facts)
    }

    /// Runs on the hosts of one operating system that have not failed.
    async fn run_stage<H: HostAgent>(
        &self,
        members: &mut [Member<'_, H>],
        windows: bool,
        next: Next,
        work: impl AsyncFn(&mut RunHost<'_, H>) -> Result<u32, RunError>,
    ) {
        let due = members
            .iter_mut()
            .filter(|member| member.windows == windows && member.result.is_ok());
        let due = due.map(|member| async {
            let result = work(&mut member.host).await;
            let earlier = member.result.as_ref().map_or(0, |changed| *changed);
            member.result = result.map(|changed| earlier + changed);
            if next == Next::Nothing || member.result.is_err() {
                self.ended(member.host.agent.name(), &member.result);
            }
        });
        self.concurrency.all(due).await;
    }

    fn ended(&self, host: &str, result: &Result<u32, RunError>) {
        (self.on_event)(RunEvent::Ended { host, result });
    }

    fn spec(&self, name: &str) -> Result<&HostSpec, RunError> {
        let mut hosts = self.cluster.spec.hosts.iter();
        hosts
            .find(|host| host.name.as_str() == name)
            .ok_or_else(|| RunError::NotInSpec(name.to_owned()))
    }

    /// For work that belongs to no host.
    async fn unless_canceled<T>(
        &self,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        self.cancel.run("the cluster", work).await
    }

    /// Does nothing if the same document was applied earlier in this run. Linux hosts are
    /// nodes already.
    async fn linux_network<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        facts: &ClusterFacts,
        run: &str,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.agent.name())?;
        let document = linux::network(self.cluster, spec, facts)?;
        if host.is_converged(&document) {
            return Ok(0);
        }
        let mut permit = self.unavailable.host();
        let job = self.job(run);
        job.converge(host, &document, &NoSecrets, &mut permit).await
    }

    /// Stages prepare and join of a Windows host. A host with a Node that becomes
    /// unavailable counts as unavailable until the Node is Ready again. It must not wait
    /// for the other hosts, which may wait for it, so its network stage runs here.
    async fn prepare_and_join<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
    ) -> Result<u32, RunError> {
        let name = host.agent.name().to_owned();
        let mut permit = self.unavailable.host();
        let result = match self.create_node(host, &mut permit).await {
            Ok((changed, node)) if permit.is_held() => {
                let restored = self.restore_node(host, node, &mut permit).await;
                restored.map(|more| changed + more)
            }
            created => created.map(|(changed, _)| changed),
        };
        self.release_permit(&name, &mut permit, &result).await;
        result
    }

    /// Returns the number of changes, and the Node.
    async fn create_node<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<(u32, NodeFacts), RunError> {
        let spec = self.spec(host.agent.name())?;
        let name = spec.name.as_str();
        let prepare = windows::prepare(self.cluster, spec, self.inputs)?;
        let given = KnownSecrets(&self.inputs.secrets);
        let job = self.job(self.run);
        let prepared = job.converge(host, &prepare, &given, permit).await?;
        if !has_node(self.facts, name) {
            // It runs no pods yet.
            permit.release();
        }
        let join = windows::join(self.cluster, spec, self.facts)?;
        let joined = self.join(host, &join, permit).await?;
        let registered = self.cancel.run(name, self.api.wait_joined(name)).await;
        // Also after a cancellation: the next run finds the Node joined and would not
        // cordon it.
        let cordoned = match joined {
            0 => Ok(()),
            _ => self.api.set_schedulable(name, false).await,
        };
        let node = registered?;
        cordoned?;
        self.api.taint(name, &spec.taints).await?;
        Ok((prepared + joined, node))
    }

    /// A token is created only when the host requests it, and is deleted on every outcome.
    async fn join<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        document: &NodeDocument,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let name = host.agent.name().to_owned();
        let job = self.job(self.run);
        let Some(pending) = job.observe(host, document).await? else {
            return Ok(0);
        };
        let tokens = Tokens::new(self.api, &name);
        let waiting = |reason| self.waiting(&name, reason);
        let joined = tokio::select! {
            biased;
            () = self.watch_join(&name, &waiting) => Ok(0),
            joined = job.change(host, pending, &tokens, permit) => joined,
        };
        let revoked = tokens.revoke().await;
        // The first error is the cause.
        let changed = joined?;
        revoked?;
        Ok(changed)
    }

    /// Watches the joining node's certificate request; never returns. A failed watch is
    /// reported but does not end the join: most clusters approve requests by themselves.
    async fn watch_join(&self, name: &str, on_wait: &(dyn Fn(String) + Sync)) {
        if let Err(error) = self.api.watch_join(name, on_wait).await {
            on_wait(format!("failed to watch its certificate request: {error}"));
        }
        std::future::pending().await
    }

    /// The network stage of a host that was unavailable, before the others have joined: all
    /// that is new of the cluster is the host's own Node. What else is new comes with the
    /// network stage of all hosts.
    async fn restore_node<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        node: NodeFacts,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let run = format!("{}-back", self.run);
        let facts = self.facts.with_node(node);
        self.network(host, &facts, &run, permit).await
    }

    /// Stage network of a Windows host, until its Node is Ready.
    async fn network_and_ready<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let name = host.agent.name().to_owned();
        let mut permit = self.unavailable.host();
        let result = self.network(host, facts, self.run, &mut permit).await;
        self.release_permit(&name, &mut permit, &result).await;
        result
    }

    /// The host counts as unavailable until its Node is Ready.
    async fn network<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        facts: &ClusterFacts,
        run: &str,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.agent.name())?;
        let name = spec.name.as_str();
        let document = windows::network(self.cluster, spec, facts)?;
        if host.is_converged(&document) {
            // Its Node was restored with it.
            return Ok(0);
        }
        let job = self.job(run);
        let changed = job.converge(host, &document, &NoSecrets, permit).await?;
        let waiting = |reason| self.waiting(name, reason);
        self.cancel
            .run(name, self.api.wait_ready(name, &waiting))
            .await?;
        permit.release();
        let labels = spec.labels.iter();
        let labels = labels.map(|(key, value)| (key.to_string(), value.to_string()));
        self.api.label(name, &labels.collect()).await?;
        self.api.set_schedulable(name, true).await?;
        if changed > 0 {
            (self.on_event)(RunEvent::Ready { host: name });
        }
        Ok(changed)
    }

    /// A host that failed while it was unavailable keeps its permit until its Node is
    /// Ready, for the rest of the run if necessary: otherwise the next host would become
    /// unavailable in addition. Hosts that never had a Node do not count.
    async fn release_permit(
        &self,
        name: &str,
        permit: &mut UnavailablePermit<'_>,
        result: &Result<u32, RunError>,
    ) {
        let Err(error) = result else { return };
        if !permit.is_held() || !has_node(self.facts, name) {
            return;
        }
        let waiting = |reason| self.waiting(name, reason);
        let ready = self.cancel.run(name, self.api.wait_ready(name, &waiting));
        // After this timeout there is no point in waiting again.
        if matches!(error, RunError::NodeTimeout { .. }) || ready.await.is_err() {
            permit.keep();
        }
    }

    fn waiting(&self, host: &str, reason: String) {
        (self.on_event)(RunEvent::Waiting { host, reason });
    }

    fn job<'a>(&'a self, run: &'a str) -> Job<'a> {
        Job {
            blobs: self.blobs,
            run,
            cancel: self.cancel,
            on_event: self.on_event,
        }
    }
}

fn has_node(facts: &ClusterFacts, name: &str) -> bool {
    facts.nodes.iter().any(|node| node.name == name)
}

#[cfg(test)]
mod tests;
