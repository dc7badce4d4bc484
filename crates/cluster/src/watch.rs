//! Watches one node: its state now and after each change, with the kubelet's reason.

use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, WatchEvent, WatchParams};

use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::facts::{ObservedNode, node_pod_cidrs, node_ready, node_taints};

/// Consecutive transient failures before an error is returned.
const MAX_FAILURES: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeState {
    pub exists: bool,
    pub ready: bool,
    /// Why it is not Ready (`KubeletNotReady`).
    pub reason: String,
    pub message: String,
    pub pod_cidrs: Vec<String>,
    /// The internal addresses, once the kubelet has reported them.
    pub addresses: Vec<String>,
    /// `os=windows:NoSchedule`.
    pub taints: Vec<String>,
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Node>, kube::Error>> + Send>>;

pub struct NodeWatch {
    cluster: ClusterClient,
    name: String,
    events: Option<Events>,
    last: Option<NodeState>,
}

impl ClusterClient {
    /// The node need not exist yet.
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
    /// The current state at the first call, then each state that differs.
    /// Cancel-safe, and may be called again after an error.
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
                    if !error.is_transient() || failures > MAX_FAILURES {
                        return Err(error);
                    }
                    let pause = Duration::from_millis(100) * 2_u32.pow(failures);
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// Lists if there is no watch, otherwise takes its next event.
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
            pod_cidrs: node_pod_cidrs(node),
            addresses: ObservedNode::of(node).addresses,
            taints: node_taints(node),
        }
    }
}
