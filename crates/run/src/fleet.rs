//! The hosts of a cluster file, each with an open connection to its agent, and the
//! cluster beside them: what `plan`, `apply`, `status`, `doctor` and `reset` work on.

use std::collections::BTreeSet;

use casement_cluster::{ClusterChange, ObservedCluster};
use casement_plan::Inputs;
use casement_remote::{HostEndpoint, HostOs};
use casement_spec::{Cluster, Host};

use crate::agent_client::{AgentClient, Agents};
use crate::blob_source::Blobs;
use crate::concurrency::Concurrency;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::kube::{KubeApi, builds_of};

pub struct Fleet {
    pub cluster: Cluster,
    pub kube: KubeApi,
    pub inputs: Inputs,
    pub blobs: Blobs,
    /// The hosts that answered, in the file's order.
    pub clients: Vec<AgentClient>,
    /// The hosts that did not answer, and why.
    pub unreachable: Vec<(String, RunError)>,
    pub concurrency: Concurrency,
}

impl Fleet {
    /// Without any connection; [`Fleet::connect`] opens them.
    #[must_use]
    pub fn new(
        cluster: Cluster,
        kube: KubeApi,
        (inputs, blobs): (Inputs, Blobs),
        concurrency: Concurrency,
    ) -> Self {
        Self {
            cluster,
            kube,
            inputs,
            blobs,
            clients: Vec::new(),
            unreachable: Vec::new(),
            concurrency,
        }
    }

    /// Connects to all of these hosts at once and brings the agent where it is missing.
    pub async fn connect(
        &mut self,
        endpoints: &[(HostEndpoint, HostOs)],
        agents: &Agents,
        controller: &str,
    ) {
        let connections = endpoints.iter();
        let connections =
            connections.map(|(endpoint, os)| AgentClient::open(endpoint, *os, agents, controller));
        let connections = self.concurrency.all(connections).await;
        for ((endpoint, _), connection) in endpoints.iter().zip(connections) {
            match connection {
                Ok(client) => self.clients.push(client),
                Err(error) => self.unreachable.push((endpoint.name().to_owned(), error)),
            }
        }
    }

    /// The host with this name in the file.
    pub fn host(&self, name: &str) -> Result<&Host, RunError> {
        let mut hosts = self.cluster.spec.hosts.iter();
        let host = hosts.find(|host| host.name.as_str() == name);
        host.ok_or_else(|| RunError::NotInSpec(name.to_owned()))
    }

    /// Whether at least one Windows host answered.
    #[must_use]
    pub fn reaches_a_windows_host(&self) -> bool {
        let windows = self.windows();
        self.connected().any(|name| windows.contains(&name))
    }

    /// The Windows builds that the file names, and those that hosts report.
    #[must_use]
    pub fn windows_builds(&self) -> BTreeSet<u32> {
        let mut builds = builds_of(&self.cluster);
        let windows = self.windows();
        let clients = self.clients.iter();
        let clients = clients.filter(|client| windows.contains(&client.name()));
        let reported = clients.filter_map(|client| {
            client
                .facts()
                .version
                .split('.')
                .nth(2)?
                .parse::<u32>()
                .ok()
        });
        builds.extend(reported);
        builds
    }

    /// What has to change in the cluster.
    ///
    /// # Errors
    /// Everything that keeps Windows nodes out.
    pub async fn changes(
        &self,
        observed: &ObservedCluster,
    ) -> Result<Vec<ClusterChange>, RunError> {
        let builds = self.windows_builds();
        self.kube.changes(&self.cluster, &builds, observed).await
    }

    /// The names of the hosts that answered.
    pub fn connected(&self) -> impl Iterator<Item = &str> {
        self.clients.iter().map(AgentClient::name)
    }

    /// The names of the hosts that were tried, in the file's order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let unreachable = |name: &str| self.unreachable.iter().any(|(it, _)| it == name);
        let hosts = self.cluster.spec.hosts.iter();
        let names = hosts.map(|host| host.name.as_str());
        let tried = |name: &&str| unreachable(name) || self.connected().any(|it| it == *name);
        names.filter(tried).collect()
    }

    /// The names of the Windows hosts.
    #[must_use]
    pub fn windows(&self) -> Vec<&str> {
        let hosts = self.cluster.windows_hosts();
        hosts.map(|host| host.name.as_str()).collect()
    }
}

/// Fails if a change interrupts all pods and that was not allowed.
pub fn refuse_outage(changes: &[ClusterChange], allowed: bool) -> Result<(), RunError> {
    let outages = changes.iter().filter(|change| change.outage.is_some());
    let outages: Vec<ClusterChange> = outages.cloned().collect();
    match outages.is_empty() || allowed {
        true => Ok(()),
        false => Err(RunError::Outage(outages)),
    }
}
