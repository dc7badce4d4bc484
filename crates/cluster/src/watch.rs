//! Waiting for a node: what it is now, and each time that this changes, with the
//! reason that its kubelet gives.

use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, WatchEvent, WatchParams};

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::facts::{NodeFacts, node_pod_cidrs, node_ready, node_taints};

/// A server that does not answer is asked again for so long before it is told.
const PATIENCE: u32 = 6;

/// A node, as far as one waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeState {
    /// Whether the Node is there at all.
    pub exists: bool,
    /// Whether it is Ready.
    pub ready: bool,
    /// Why not, in a word (`KubeletNotReady`).
    pub reason: String,
    /// Why not, in a sentence.
    pub message: String,
    /// The network of its pods, once it has one.
    pub pod_cidr: Option<String>,
    /// Its internal address, once its kubelet has told it.
    pub address: Option<String>,
    /// Its taints (`os=windows:NoSchedule`).
    pub taints: Vec<String>,
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Node>, kube::Error>> + Send>>;

/// A watch on one node.
pub struct NodeWatch {
    cluster: Cluster,
    name: String,
    events: Option<Events>,
    last: Option<NodeState>,
}

impl Cluster {
    /// Starts to watch a node, which need not be there yet.
    pub fn watch_node(&self, name: &str) -> NodeWatch {
        NodeWatch {
            cluster: self.clone(),
            name: name.to_lowercase(),
            events: None,
            last: None,
        }
    }
}

impl NodeWatch {
    /// The state now at the first call, then each next one that differs. May be
    /// dropped half-way, for example by a time-out, and called again. After an
    /// error it may be called again, too.
    pub async fn next(&mut self) -> Result<NodeState, ClusterError> {
        let mut failures = 0;
        loop {
            match self.step().await {
                Ok(Some(state)) if self.last.as_ref() != Some(&state) => {
                    self.last = Some(state.clone());
                    return Ok(state);
                }
                Ok(_) => failures = 0,
                Err(error) => {
                    self.events = None;
                    failures += 1;
                    if !error.is_transient() || failures > PATIENCE {
                        return Err(error);
                    }
                    let pause = Duration::from_millis(100) * 2_u32.pow(failures);
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// Looks once: lists when there is no watch, else takes its next event.
    async fn step(&mut self) -> Result<Option<NodeState>, ClusterError> {
        let Some(events) = &mut self.events else {
            return self.list().await.map(Some);
        };
        match events.next().await {
            Some(Ok(WatchEvent::Added(node) | WatchEvent::Modified(node))) => {
                Ok(Some(NodeState::of(&node)))
            }
            Some(Ok(WatchEvent::Deleted(_))) => Ok(Some(NodeState::default())),
            Some(Ok(WatchEvent::Bookmark(_))) => Ok(None),
            // The watch has ended, or is too old: list again.
            None | Some(Ok(WatchEvent::Error(_))) => {
                self.events = None;
                Ok(None)
            }
            Some(Err(error)) => {
                let what = format!("watch Node {}", self.name);
                Err(self.cluster.failed(what)(error))
            }
        }
    }

    async fn list(&mut self) -> Result<NodeState, ClusterError> {
        let what = format!("watch Node {}", self.name);
        let field = format!("metadata.name={}", self.name);
        let api = self.cluster.node_api();
        let list = api.list(&ListParams::default().fields(&field)).await;
        let list = list.map_err(self.cluster.failed(what.clone()))?;
        let version = list.metadata.resource_version.clone().unwrap_or_default();
        let params = WatchParams::default().fields(&field);
        let stream = api.watch(&params, &version).await;
        let stream = stream.map_err(self.cluster.failed(what))?;
        self.events = Some(Box::pin(stream));
        let found = list.items.first().map(NodeState::of);
        Ok(found.unwrap_or_default())
    }
}

impl NodeState {
    fn of(node: &Node) -> Self {
        let condition = node_ready(node);
        let ready = condition.is_some_and(|condition| condition.status == "True");
        let (reason, message) = match condition {
            Some(condition) => (
                condition.reason.clone().unwrap_or_default(),
                condition.message.clone().unwrap_or_default(),
            ),
            None => (
                "NoStatus".to_owned(),
                "the kubelet has not reported yet".to_owned(),
            ),
        };
        Self {
            exists: true,
            ready,
            reason,
            message,
            pod_cidr: node_pod_cidrs(node).into_iter().next(),
            address: NodeFacts::of(node).addresses.into_iter().next(),
            taints: node_taints(node),
        }
    }
}
