//! Makes hosts nodes: prepare, join, network, ready.

use casement_plan::{ClusterFacts, Inputs, linux, windows};
use casement_resource::wire::{Event, Tally};
use casement_resource::{NodeDocument, Stage};
use casement_spec::{Cluster, Host as HostSpec};

use crate::api::Api;
use crate::error::RunError;
use crate::host::Host;
use crate::job::Job;
use crate::link::Observed;
use crate::many::AtOnce;
use crate::secrets::{Given, NoSecrets, Tokens};
use crate::source::{Blobs, Bringing};
use crate::stop::Stop;
use crate::unavailable::{Away, Unavailable};

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
    /// Ends every wait; a host that is being changed heeds it after its step.
    pub stop: &'a Stop,
    /// How many hosts are worked on at once.
    pub at_once: AtOnce,
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

/// What there is for a host after a part of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    More,
    Nothing,
}

/// One host, and how far it has come.
struct Member<'a, H> {
    host: &'a mut H,
    windows: bool,
    result: Result<u32, RunError>,
}

impl<A: Api> Apply<'_, A> {
    /// Carries it out. A host that fails does not stop the others; routes are
    /// made between those that have joined.
    pub async fn carry_out<H: Host>(&self, hosts: &mut [H]) -> Result<Vec<HostOutcome>, RunError> {
        let members = hosts.iter_mut().map(|host| {
            let spec = self.spec(host.name());
            Member {
                windows: spec.as_ref().is_ok_and(|spec| spec.os.is_windows()),
                result: spec.map(|_| 0),
                host,
            }
        });
        let mut members: Vec<Member<'_, H>> = members.collect();
        let stopped = match self.stages(&mut members).await {
            Err(RunError::Stopped { .. }) => true,
            ended => ended.map(|()| false)?,
        };
        let outcomes = members.into_iter().map(|member| {
            let host = member.host.name().to_owned();
            let result = match member.result {
                Ok(_) if stopped => {
                    let result = Err(RunError::Stopped { host: host.clone() });
                    self.ended(&host, &result);
                    result
                }
                result => result,
            };
            HostOutcome { host, result }
        });
        Ok(outcomes.collect())
    }

    /// All stages, with the Linux side of the network before the Windows side, twice:
    /// what is known of it before the first Windows host joins, and the ways to those
    /// that have joined, whose pod networks nobody knows earlier, before the first of
    /// them gets its own network.
    async fn stages<H: Host>(&self, members: &mut [Member<'_, H>]) -> Result<(), RunError> {
        let before = self.heeded(self.api.facts()).await?;
        let early = async |host: &mut H| self.linux_network(host, None, &before).await;
        self.part(members, false, After::More, early).await;
        let to_node = async |host: &mut H| self.to_node(host, &before).await;
        self.part(members, true, After::More, to_node).await;
        let nodes = members.iter().filter(|member| member.result.is_ok());
        let nodes: Vec<&str> = nodes.map(|member| member.host.name()).collect();
        self.heeded(self.api.sweep(&nodes)).await?;
        let after = self.heeded(self.api.facts()).await?;
        let ways = async |host: &mut H| self.linux_network(host, Some(&before), &after).await;
        self.part(members, false, After::Nothing, ways).await;
        let to_ready = async |host: &mut H| self.to_ready(host, &before, &after).await;
        self.part(members, true, After::Nothing, to_ready).await;
        Ok(())
    }

    /// One part of a run, on the hosts of one system that have come so far.
    async fn part<H: Host>(
        &self,
        members: &mut [Member<'_, H>],
        windows: bool,
        after: After,
        work: impl AsyncFn(&mut H) -> Result<u32, RunError>,
    ) {
        let due = members
            .iter_mut()
            .filter(|member| member.windows == windows && member.result.is_ok());
        let due = due.map(|member| async {
            let done = work(member.host).await;
            let so_far = member.result.as_ref().map_or(0, |changed| *changed);
            member.result = done.map(|changed| so_far + changed);
            if after == After::Nothing || member.result.is_err() {
                self.ended(member.host.name(), &member.result);
            }
        });
        self.at_once.all(due).await;
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

    /// For what is no host's.
    async fn heeded<T>(
        &self,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        self.stop.heeded("the cluster", work).await
    }

    /// A Linux host's side of the network, by what is known now; nothing, if it was
    /// made the same before. Linux hosts are nodes already.
    async fn linux_network<H: Host>(
        &self,
        host: &mut H,
        made: Option<&ClusterFacts>,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let document = linux::network(self.cluster, spec, facts)?;
        // A run of its own: under the same name it would be the same one, which is over.
        let run = match made {
            None => format!("{}-early", self.run),
            Some(made) if linux::network(self.cluster, spec, made)? == document => return Ok(0),
            Some(_) => self.run.to_owned(),
        };
        let mut away = self.unavailable.host();
        let job = self.job(&run);
        job.converge(host, &document, &NoSecrets, &mut away).await
    }

    /// Stages A and B of a Windows host. One that has a Node already, and goes away,
    /// counts as away until that is Ready again: it does not wait for the others, which
    /// wait for it, but has its network checked and its Node waited for here.
    async fn to_node<H: Host>(&self, host: &mut H, facts: &ClusterFacts) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let mut away = self.unavailable.host();
        let mut made = self.make_node(host, facts, &mut away).await;
        if let Ok(changed) = made
            && away.counts()
        {
            let run = format!("{}-back", self.run);
            let back = self.bring_back(host, &run, &mut away).await;
            made = back.map(|more| changed + more);
        }
        self.settle(&name, facts, &mut away, &made).await;
        made
    }

    async fn make_node<H: Host>(
        &self,
        host: &mut H,
        facts: &ClusterFacts,
        away: &mut Away<'_>,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let name = spec.name.as_str();
        let prepare = windows::prepare(self.cluster, spec, self.inputs)?;
        let given = Given(&self.inputs.secrets);
        let job = self.job(self.run);
        let prepared = job.converge(host, &prepare, &given, away).await?;
        if !has_node(facts, name) {
            // It has no pods yet: nobody misses it.
            away.back();
        }
        let join = windows::join(self.cluster, spec, facts)?;
        let joined = self.join(host, &join, away).await?;
        let there = self.stop.heeded(name, self.api.joined(name)).await;
        // Also where that was stopped: the next run finds it joined, and nobody would
        // keep pods off it then.
        let kept = match joined {
            0 => Ok(()),
            _ => self.api.schedulable(name, false).await,
        };
        there?;
        kept?;
        self.api.taint(name, &spec.taints).await?;
        Ok(prepared + joined)
    }

    /// A token is made only for a host that asks for it, and never outlives the
    /// join, whatever happens.
    async fn join<H: Host>(
        &self,
        host: &mut H,
        document: &NodeDocument,
        away: &mut Away<'_>,
    ) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let tokens = Tokens::new(self.api, &name);
        let waiting = |reason| self.waiting(&name, reason);
        let job = self.job(self.run);
        let joined = tokio::select! {
            biased;
            () = self.stand_by(&name, &waiting) => Ok(0),
            joined = job.converge(host, document, &tokens, away) => joined,
        };
        let revoked = tokens.revoke().await;
        // The first error is the one to tell.
        let changed = joined?;
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

    /// What can be done for a host that was away, before the others have joined.
    async fn bring_back<H: Host>(
        &self,
        host: &mut H,
        run: &str,
        away: &mut Away<'_>,
    ) -> Result<u32, RunError> {
        let facts = self.heeded(self.api.facts()).await?;
        self.network(host, &facts, run, away).await
    }

    /// Stage C of a Windows host, and then the Node's own word that it is ready.
    async fn to_ready<H: Host>(
        &self,
        host: &mut H,
        before: &ClusterFacts,
        facts: &ClusterFacts,
    ) -> Result<u32, RunError> {
        let name = host.name().to_owned();
        let mut away = self.unavailable.host();
        let done = self.network(host, facts, self.run, &mut away).await;
        self.settle(&name, before, &mut away, &done).await;
        done
    }

    /// It counts as away until its Node is Ready again.
    async fn network<H: Host>(
        &self,
        host: &mut H,
        facts: &ClusterFacts,
        run: &str,
        away: &mut Away<'_>,
    ) -> Result<u32, RunError> {
        let spec = self.spec(host.name())?;
        let name = spec.name.as_str();
        let document = windows::network(self.cluster, spec, facts)?;
        let job = self.job(run);
        let changed = job.converge(host, &document, &NoSecrets, away).await?;
        let waiting = |reason| self.waiting(name, reason);
        self.stop
            .heeded(name, self.api.ready(name, &waiting))
            .await?;
        away.back();
        let labels = spec.labels.iter();
        let labels = labels.map(|(key, value)| (key.to_string(), value.to_string()));
        self.api.label(name, &labels.collect()).await?;
        self.api.schedulable(name, true).await?;
        if changed > 0 {
            (self.tell)(Happening::Ready { host: name });
        }
        Ok(changed)
    }

    /// What becomes of the place of a host that failed while it was away. If its pods
    /// are missed, it counts until its Node is Ready, for the rest of the run if need
    /// be: otherwise the next one would go away beside it.
    async fn settle(
        &self,
        name: &str,
        before: &ClusterFacts,
        away: &mut Away<'_>,
        ended: &Result<u32, RunError>,
    ) {
        let Err(error) = ended else { return };
        if !away.counts() || !has_node(before, name) {
            return;
        }
        let waiting = |reason| self.waiting(name, reason);
        let ready = self.stop.heeded(name, self.api.ready(name, &waiting));
        // That it is not Ready has just been waited for.
        if matches!(error, RunError::NodeNot { .. }) || ready.await.is_err() {
            away.lost();
        }
    }

    fn waiting(&self, host: &str, reason: String) {
        (self.tell)(Happening::Waiting { host, reason });
    }

    fn job<'a>(&'a self, run: &'a str) -> Job<'a> {
        Job {
            blobs: self.blobs,
            run,
            stop: self.stop,
            tell: self.tell,
        }
    }
}

fn has_node(facts: &ClusterFacts, name: &str) -> bool {
    facts.nodes.iter().any(|node| node.name == name)
}

#[cfg(test)]
mod tests;
