//! Takes pods off a node before the node goes: each is evicted, so that disruption
//! budgets hold. Pods of DaemonSets and of the node itself stay, and go with it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, EvictParams, ListParams};
use tokio::time::{Instant, sleep};

use crate::connect::Cluster;
use crate::error::ClusterError;

/// Between two looks; a budget may let the next pod go at any time.
const PAUSE: Duration = Duration::from_millis(500);

/// What draining came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// There is no such Node.
    NoNode,
    /// So many pods were told to go, and have gone.
    Gone(usize),
    /// The Node is not Ready: so many pods were told to go, and nobody there will
    /// say that they have.
    NotWaitedFor(usize),
}

impl Cluster {
    /// Cordons a Node and evicts its pods; waits until they are gone, where a
    /// kubelet is there to end them. `tell` hears what is waited for.
    pub async fn drain(
        &self,
        name: &str,
        limit: Duration,
        tell: &(dyn Fn(String) + Sync),
    ) -> Result<Drained, ClusterError> {
        let name = name.to_lowercase();
        let Some(node) = self.node(&name).await? else {
            return Ok(Drained::NoNode);
        };
        self.cordon(&name).await?;
        let end = Instant::now() + limit;
        let (mut told, mut most) = (usize::MAX, 0);
        loop {
            let held = self.evict_all(&name).await?;
            most = most.max(held.len());
            if held.is_empty() {
                return Ok(Drained::Gone(most));
            }
            let blocked = held.values().any(|what| what != LEAVING);
            if !node.ready && !blocked {
                return Ok(Drained::NotWaitedFor(most));
            }
            if Instant::now() >= end {
                return Err(ClusterError::NotDrained {
                    node: name,
                    seconds: limit.as_secs(),
                    pods: held,
                });
            }
            if held.len() != told {
                told = held.len();
                tell(format!("{told} pods are leaving the Node"));
            }
            sleep(PAUSE).await;
        }
    }

    /// Evicts every pod that may go; gives those that are still there, each with
    /// what keeps it.
    async fn evict_all(&self, node: &str) -> Result<BTreeMap<String, String>, ClusterError> {
        let all: Api<Pod> = Api::all(self.client.clone());
        let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = all.list(&params).await;
        let pods = pods.map_err(self.failed(format!("list the pods of Node {node}")))?;
        let mut held = BTreeMap::new();
        for pod in pods.iter().filter(|pod| is_ours_to_move(pod)) {
            let namespace = pod.metadata.namespace.clone().unwrap_or_default();
            let name = pod.metadata.name.clone().unwrap_or_default();
            let what = match pod.metadata.deletion_timestamp.is_some() {
                true => Some(LEAVING.to_owned()),
                false => self.evict(&namespace, &name).await?,
            };
            if let Some(what) = what {
                held.insert(format!("{namespace}/{name}"), what);
            }
        }
        Ok(held)
    }

    /// What keeps the pod; none if it is gone.
    async fn evict(&self, namespace: &str, name: &str) -> Result<Option<String>, ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        match pods.evict(name, &EvictParams::default()).await {
            Ok(_) => Ok(Some(LEAVING.to_owned())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            // A budget does not let it go now.
            Err(kube::Error::Api(status)) if status.code == 429 => Ok(Some(status.message.clone())),
            Err(error) => Err(self.failed(format!("evict Pod {namespace}/{name}"))(error)),
        }
    }
}

const LEAVING: &str = "it is ending";

/// Not those that would come straight back, nor those that have ended.
fn is_ours_to_move(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    let owned = owners
        .clone()
        .any(|owner| matches!(owner.kind.as_str(), "DaemonSet" | "Node"));
    let notes = pod.metadata.annotations.as_ref();
    let mirror = notes.is_some_and(|notes| notes.contains_key("kubernetes.io/config.mirror"));
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    !owned && !mirror && !matches!(phase, Some("Succeeded" | "Failed"))
}
