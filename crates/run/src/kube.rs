//! The real cluster behind a run.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_cluster::{
    Cluster, NodeState, TokenOrder, node_proxier_binding, node_proxier_binding_ref, runtime_class,
};
use casement_plan::{ClusterFacts, NodeFacts};
use casement_resource::Secret;
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use crate::api::{Api, Token};
use crate::error::RunError;

/// How long a kubelet may take to show its Node.
const TO_EXIST: Duration = Duration::from_secs(120);
/// How long a Node may take from its network to Ready.
const TO_BE_READY: Duration = Duration::from_secs(300);
/// A token is used within minutes; it must outlive a slow host.
const TOKEN: Duration = Duration::from_secs(1800);

/// A cluster, and the run that it is spoken to for.
#[derive(Clone)]
pub struct Kube {
    /// The API.
    pub cluster: Cluster,
    /// The run's name, which marks its tokens.
    pub run: String,
}

impl Kube {
    /// The objects that a Windows node needs: each as a change, and only those
    /// that are not there yet.
    pub async fn changes(
        &self,
        windows: &[&str],
    ) -> Result<Vec<casement_cluster::ClusterChange>, RunError> {
        let facts = self.cluster.facts().await?;
        let mut changes = facts.os_selector_changes();
        let mut wanted = vec![runtime_class("windows-2022", "10.0.20348")];
        wanted.extend(windows.iter().map(|node| node_proxier_binding(node)));
        for manifest in &wanted {
            changes.extend(self.cluster.plan_owned(manifest).await?);
        }
        Ok(changes)
    }

    /// Waits for a state of the Node; the error has the last state seen.
    async fn wait(
        &self,
        node: &str,
        limit: Duration,
        what: &'static str,
        tell: &(dyn Fn(String) + Sync),
        fits: impl Fn(&NodeState) -> bool + Send,
    ) -> Result<NodeState, RunError> {
        let mut watch = self.cluster.watch_node(node);
        let mut last = NodeState::default();
        let waited = timeout(limit, async {
            loop {
                last = watch.next().await?;
                if fits(&last) {
                    return Ok::<_, RunError>(());
                }
                tell(described(&last));
            }
        });
        match waited.await {
            Ok(Ok(())) => Ok(last),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(RunError::NodeNot {
                node: node.to_owned(),
                what,
                seconds: limit.as_secs(),
                last: described(&last),
            }),
        }
    }
}

fn described(state: &NodeState) -> String {
    match (state.exists, state.ready) {
        (false, _) => "there is no Node yet".to_owned(),
        (true, true) => "the Node is Ready".to_owned(),
        (true, false) if state.message.is_empty() => "the Node is NotReady".to_owned(),
        (true, false) => format!("the Node is NotReady: {}", state.message),
    }
}

impl Api for Kube {
    async fn facts(&self) -> Result<ClusterFacts, RunError> {
        let facts = self.cluster.facts().await?;
        let nodes = facts.nodes.iter().map(|node| NodeFacts {
            name: node.name.clone(),
            address: node.addresses.iter().find_map(|text| text.parse().ok()),
            pods: node.pod_cidrs.iter().find_map(|text| text.parse().ok()),
        });
        Ok(ClusterFacts {
            api_server: facts.endpoint.clone(),
            ca_hashes: facts.ca_hashes.clone(),
            ca: facts.ca_pem.clone(),
            nodes: nodes.collect(),
        })
    }

    async fn mint(&self, host: &str) -> Result<Token, RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, &[host])
            .await?;
        let order = TokenOrder {
            host: host.to_owned(),
            run: self.run.clone(),
            lifetime: TOKEN,
        };
        let token = self.cluster.mint_token(&order).await?;
        Ok(Token {
            id: token.id().to_owned(),
            value: Secret::new(token.value().expose_secret().to_owned()),
        })
    }

    async fn revoke(&self, id: &str) -> Result<(), RunError> {
        Ok(self.cluster.delete_token(id).await?)
    }

    async fn sweep(&self, hosts: &[&str]) -> Result<(), RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, hosts)
            .await?;
        Ok(())
    }

    async fn joined(&self, node: &str) -> Result<NodeFacts, RunError> {
        // Both are there a moment after the Node is, and others' ways to its pods
        // are made of them.
        let known = |state: &NodeState| state.pod_cidr.is_some() && state.address.is_some();
        let what = "given a pod network and an address";
        let state = self.wait(node, TO_EXIST, what, &|_| {}, known).await?;
        Ok(NodeFacts {
            name: node.to_owned(),
            address: None,
            pods: state.pod_cidr.and_then(|text| text.parse().ok()),
        })
    }

    async fn ready(&self, node: &str, tell: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.wait(node, TO_BE_READY, "Ready", tell, |state| state.ready)
            .await
            .map(drop)
    }

    async fn schedulable(&self, node: &str, yes: bool) -> Result<(), RunError> {
        if yes {
            self.cluster.uncordon(node).await?;
        } else {
            self.cluster.cordon(node).await?;
        }
        Ok(())
    }

    async fn label(&self, node: &str, labels: &BTreeMap<String, String>) -> Result<(), RunError> {
        if !labels.is_empty() {
            self.cluster.label_node(node, labels).await?;
        }
        Ok(())
    }

    async fn forget(&self, node: &str) -> Result<(), RunError> {
        self.sweep(&[node]).await?;
        self.cluster.delete_node(node).await?;
        let binding = node_proxier_binding_ref(node);
        if let Some(change) = self.cluster.plan_removal(&binding).await? {
            self.cluster.carry_out(&change).await?;
        }
        Ok(())
    }
}
