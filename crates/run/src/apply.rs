//! Turns hosts into nodes: prepare, join, network, Ready.

use casement_plan::{ClusterFacts, Inputs, linux, windows};
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
    /// The prefix of the run ids on hosts; each stage appends its name.
    pub run: &'a str,
    /// Ends waits at once; a host that is being changed finishes its current step.
    pub cancel: &'a CancelToken,
    pub concurrency: Concurrency,
    pub unavailable: UnavailableLimit,
    pub on_event: &'a (dyn Fn(RunEvent<'_>) + Sync),
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
    host: &'a mut H,
    windows: bool,
    result: Result<u32, RunError>,
}

impl<A: ClusterApi> Apply<'_, A> {
    /// A failing host does not stop the others; routes are created between those that
    /// have joined.
    pub async fn run<H: HostAgent>(&self, hosts: &mut [H]) -> Result<Vec<HostOutcome>, RunError> {
        let members = hosts.iter_mut().map(|host| {
            let spec = self.spec(host.name());
            Member {
                windows: spec.as_ref().is_ok_and(|spec| spec.os.is_windows()),
                result: spec.map(|_| 0),
                host,
            }
        });
        let mut members: Vec<Member<'_, H>> = members.collect();
        let canceled = match self.stages(&mut members).await {
            Err(RunError::Canceled { .. }) => true,
            ended => ended.map(|()| false)?,
        };
        let outcomes = members.into_iter().map(|member| {
            let host = member.host.name().to_owned();
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
        Ok(outcomes.collect())
    }

    /// The Linux side of the network comes before the Windows side, twice: what is known
    /// before the first Windows host joins, then the routes to the joined hosts, whose pod
    /// networks are not known earlier, before the first of them gets its network.
    async fn stages<H: HostAgent>(&self, members: &mut [Member<'_, H>]) -> Result<(), RunError> {
        let before = self.unless_canceled(self.api.facts()).await?;
        let early = async |host: &mut H| self.linux_network(host, None, &before).await;
        self.run_stage(members, false, Next::More, early).await;
        let join = async |host: &mut H| self.prepare_and_join(host, &before).await;
        self.run_stage(members, true, Next::More, join).await;
        let nodes = members.iter().filter(|member| member.result.is_ok());
        let nodes: Vec<&str> = nodes.map(|member| member.host.name()).collect();
        self.unless_canceled(self.api.delete_leftover_tokens(&nodes))
            .await?;
        let after = self.unless_canceled(self.api.facts()).await?;
        let routes = async |host: &mut H| self.linux_network(host, Some(&before), &after).await;
        self.run_stage(members, false, Next::Nothing, routes).await;
        let network = async |host: &mut H| self.network_and_ready(host, &before, &after).await;
        self.run_stage(members, true, Next::Nothing, network).await;
        Ok(())
    }

    /// Runs on the hosts of one operating system that have not failed.
    async fn run_stage<H: HostAgent>(
        &self,
        members: &mut [Member<'_, H>],
        windows: bool,
        next: Next,
        work: impl AsyncFn(&mut H) -> Result<u32, RunError>,
    ) {
        let due = members
            .iter_mut()
            .filter(|member| member.windows == windows && member.result.is_ok());
        let due = due.map(|member| async {
            let result = work(member.host).await;
            let earlier = member.result.as_ref().map_or(0, |changed| *changed);
            member.result = result.map(|changed| earlier + changed);
            if next == Next::Nothing || member.result.is_err() {
                self.ended(member.host.name(), &member.result);
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
        host: &mut H,
        applied: Option<&ClusterFacts>,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let document = linux::network(self.cluster, spec, facts)?;
        // A separate run id: the agent would take the same one for a finished run.
        let run = match applied {
            None => format!("{}-early", self.run),
            Some(applied) if linux::network(self.cluster, spec, applied)? == document => {
                return Ok(0);
            }
            Some(_) => self.run.to_owned(),
        };
        let mut permit = self.unavailable.host();
        let job = self.job(&run);
        job.converge(host, &document, &NoSecrets, &mut permit).await
    }

    /// Stages prepare and join of a Windows host. A host with a Node that becomes
    /// unavailable counts as unavailable until the Node is Ready again. It must not wait
    /// for the other hosts, which may wait for it, so its network stage runs here.
    async fn prepare_and_join<H: HostAgent>(
        &self,
        host: &mut H,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let mut permit = self.unavailable.host();
        let mut result = self.create_node(host, facts, &mut permit).await;
        if let Ok(changed) = result
            && permit.is_held()
        {
            let run = format!("{}-back", self.run);
            let restored = self.restore_node(host, &run, &mut permit).await;
            result = restored.map(|more| changed + more);
        }
        self.release_permit(&name, facts, &mut permit, &result)
            .await;
        result
    }

    async fn create_node<H: HostAgent>(
        &self,
        host: &mut H,
        facts: &ClusterFacts,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let name = spec.name.as_str();
        let prepare = windows::prepare(self.cluster, spec, self.inputs)?;
        let given = KnownSecrets(&self.inputs.secrets);
        let job = self.job(self.run);
        let prepared = job.converge(host, &prepare, &given, permit).await?;
        if !has_node(facts, name) {
            // It runs no pods yet.
            permit.release();
        }
        let join = windows::join(self.cluster, spec, facts)?;
        let joined = self.join(host, &join, permit).await?;
        let registered = self.cancel.run(name, self.api.wait_joined(name)).await;
        // Also after a cancellation: the next run finds the Node joined and would not
        // cordon it.
        let cordoned = match joined {
            0 => Ok(()),
            _ => self.api.set_schedulable(name, false).await,
        };
        registered?;
        cordoned?;
        self.api.taint(name, &spec.taints).await?;
        Ok(prepared + joined)
    }

    /// A token is created only when the host requests it, and is deleted on every outcome.
    async fn join<H: HostAgent>(
        &self,
        host: &mut H,
        document: &NodeDocument,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let tokens = Tokens::new(self.api, &name);
        let waiting = |reason| self.waiting(&name, reason);
        let job = self.job(self.run);
        let joined = tokio::select! {
            biased;
            () = self.watch_join(&name, &waiting) => Ok(0),
            joined = job.converge(host, document, &tokens, permit) => joined,
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

    /// The network stage of a host that was unavailable, before the others have joined.
    async fn restore_node<H: HostAgent>(
        &self,
        host: &mut H,
        run: &str,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let facts = self.unless_canceled(self.api.facts()).await?;
        self.network(host, &facts, run, permit).await
    }

    /// Stage network of a Windows host, until its Node is Ready.
    async fn network_and_ready<H: HostAgent>(
        &self,
        host: &mut H,
        before: &ClusterFacts,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let mut permit = self.unavailable.host();
        let result = self.network(host, facts, self.run, &mut permit).await;
        self.release_permit(&name, before, &mut permit, &result)
            .await;
        result
    }

    /// The host counts as unavailable until its Node is Ready.
    async fn network<H: HostAgent>(
        &self,
        host: &mut H,
        facts: &ClusterFacts,
        run: &str,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let name = spec.name.as_str();
        let document = windows::network(self.cluster, spec, facts)?;
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
        before: &ClusterFacts,
        permit: &mut UnavailablePermit<'_>,
        result: &Result<u32, RunError>,
    ) {
        let Err(error) = result else { return };
        if !permit.is_held() || !has_node(before, name) {
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
