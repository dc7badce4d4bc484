//! Drains a node: pods are evicted, so that disruption budgets apply. DaemonSet and
//! static pods stay.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, EvictParams, ListParams};
use tokio::time::{Instant, sleep};

use crate::client::ClusterClient;
use crate::error::ClusterError;

/// A budget may allow the next eviction at any time.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// The Node does not exist.
    NoNode,
    /// The number of evicted pods; all have terminated.
    Gone(usize),
    /// The number of evicted pods on a Node that is not Ready: no kubelet confirms that
    /// they have terminated.
    NotWaitedFor(usize),
}

impl ClusterClient {
    /// Cordons a Node and evicts its pods. Waits until they have terminated if the Node
    /// is Ready; `on_progress` receives what is being waited for.
    pub async fn drain(
        &self,
        name: &str,
        limit: Duration,
        on_progress: &(dyn Fn(String) + Sync),
    ) -> Result<Drained, ClusterError> {
        let name = name.to_lowercase();
        let Some(node) = self.node(&name).await? else {
            return Ok(Drained::NoNode);
        };
        self.cordon(&name).await?;
        let end = Instant::now() + limit;
        let (mut reported, mut most) = (usize::MAX, 0);
        loop {
            let remaining = self.evict_all(&name).await?;
            most = most.max(remaining.len());
            if remaining.is_empty() {
                return Ok(Drained::Gone(most));
            }
            let blocked = remaining.values().any(|reason| reason != TERMINATING);
            if !node.ready && !blocked {
                return Ok(Drained::NotWaitedFor(most));
            }
            if Instant::now() >= end {
                return Err(ClusterError::NotDrained {
                    node: name,
                    seconds: limit.as_secs(),
                    pods: remaining,
                });
            }
            if remaining.len() != reported {
                reported = remaining.len();
                on_progress(match reported {
                    1 => "waiting for 1 pod to terminate".to_owned(),
                    count => format!("waiting for {count} pods to terminate"),
                });
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Evicts every evictable pod; returns those that remain, each with the reason.
    async fn evict_all(&self, node: &str) -> Result<BTreeMap<String, String>, ClusterError> {
        let all: Api<Pod> = Api::all(self.client.clone());
        let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = all.list(&params).await;
        let pods = pods.map_err(self.failed(format!("list the pods of Node {node}")))?;
        let mut remaining = BTreeMap::new();
        for pod in pods.iter().filter(|pod| is_evictable(pod)) {
            let namespace = pod.metadata.namespace.clone().unwrap_or_default();
            let name = pod.metadata.name.clone().unwrap_or_default();
            let reason = match pod.metadata.deletion_timestamp.is_some() {
                true => Some(TERMINATING.to_owned()),
                false => self.evict(&namespace, &name).await?,
            };
            if let Some(reason) = reason {
                remaining.insert(format!("{namespace}/{name}"), reason);
            }
        }
        Ok(remaining)
    }

    /// Why the pod remains; none if it is gone.
    async fn evict(&self, namespace: &str, name: &str) -> Result<Option<String>, ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        match pods.evict(name, &EvictParams::default()).await {
            Ok(_) => Ok(Some(TERMINATING.to_owned())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            // A disruption budget denies the eviction for now.
            Err(kube::Error::Api(status)) if status.code == 429 => Ok(Some(status.message.clone())),
            Err(error) => Err(self.failed(format!("evict Pod {namespace}/{name}"))(error)),
        }
    }
}

const TERMINATING: &str = "terminating";

/// Not DaemonSet or static pods, which would be recreated, and not completed pods.
fn is_evictable(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    let owned = owners
        .clone()
        .any(|owner| matches!(owner.kind.as_str(), "DaemonSet" | "Node"));
    let annotations = pod.metadata.annotations.as_ref();
    let mirror = annotations.is_some_and(|it| it.contains_key("kubernetes.io/config.mirror"));
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    !owned && !mirror && !matches!(phase, Some("Succeeded" | "Failed"))
}
