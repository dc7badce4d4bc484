//! What in a cluster does not go as it should: for who looks for a cause.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{Api, ListParams};

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::facts::{NodeFacts, node_ready};
use crate::request::{SIGNER, subject};

/// Everything that stands still.
#[derive(Debug, Clone, Default)]
pub struct Troubles {
    /// All Nodes, with what their kubelets say.
    pub nodes: Vec<NodeWord>,
    /// Pods that were given to a node and do not run there.
    pub pods: Vec<PodTrouble>,
    /// Kubelets' requests that nobody has decided.
    pub requests: Vec<OpenRequest>,
}

/// A Node, and its kubelet's word on it.
#[derive(Debug, Clone)]
pub struct NodeWord {
    /// What it is.
    pub facts: NodeFacts,
    /// Why it is not Ready.
    pub message: String,
}

/// A pod that does not run.
#[derive(Debug, Clone)]
pub struct PodTrouble {
    /// `namespace/name`.
    pub name: String,
    /// Its node.
    pub node: String,
    /// What its container waits for.
    pub reason: String,
    /// What was said of it last.
    pub message: String,
}

/// A request that waits.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// Its name.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// The Node that the certificate would be for.
    pub node: String,
}

impl Cluster {
    /// Looks at the cluster; changes nothing.
    pub async fn troubles(&self) -> Result<Troubles, ClusterError> {
        let (nodes, pods, requests) =
            tokio::try_join!(self.words(), self.stuck_pods(), self.open_requests())?;
        Ok(Troubles {
            nodes,
            pods,
            requests,
        })
    }

    async fn words(&self) -> Result<Vec<NodeWord>, ClusterError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list Nodes"))?;
        let word = |node: &Node| NodeWord {
            facts: NodeFacts::of(node),
            message: node_ready(node)
                .and_then(|condition| condition.message.clone())
                .unwrap_or_default(),
        };
        Ok(list.iter().map(word).collect())
    }

    async fn stuck_pods(&self) -> Result<Vec<PodTrouble>, ClusterError> {
        let api: Api<Pod> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list Pods"))?;
        let mut troubles = Vec::new();
        for pod in &list {
            let Some(mut trouble) = trouble(pod) else {
                continue;
            };
            if trouble.message.is_empty() {
                trouble.message = self.last_word(pod).await?;
            }
            troubles.push(trouble);
        }
        Ok(troubles)
    }

    /// The newest event about a pod.
    async fn last_word(&self, pod: &Pod) -> Result<String, ClusterError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        let events = api.list(&about).await;
        let events = events.map_err(self.failed("list Events"))?;
        let newest = events
            .iter()
            .filter(|event| event.type_.as_deref() == Some("Warning"))
            .max_by_key(|event| event.last_timestamp.clone());
        Ok(newest
            .and_then(|event| event.message.clone())
            .unwrap_or_default())
    }

    async fn open_requests(&self) -> Result<Vec<OpenRequest>, ClusterError> {
        let api: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list CertificateSigningRequests"))?;
        Ok(list.iter().filter_map(open).collect())
    }
}

fn trouble(pod: &Pod) -> Option<PodTrouble> {
    let node = pod.spec.as_ref()?.node_name.clone()?;
    let status = pod.status.as_ref()?;
    if pod.metadata.deletion_timestamp.is_some() || status.phase.as_deref() == Some("Succeeded") {
        return None;
    }
    let states = status.container_statuses.as_ref().into_iter().flatten();
    let mut waiting = states.filter_map(|it| it.state.as_ref()?.waiting.as_ref());
    let waiting = waiting.next()?;
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    Some(PodTrouble {
        name: format!("{namespace}/{name}"),
        node,
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    })
}

fn open(request: &CertificateSigningRequest) -> Option<OpenRequest> {
    let decided = request
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref())
        .is_some_and(|conditions| !conditions.is_empty());
    if decided || request.spec.signer_name != SIGNER {
        return None;
    }
    let (node, _) = subject(&request.spec.request.0)?;
    let node = node.strip_prefix("system:node:")?.to_owned();
    Some(OpenRequest {
        name: request.metadata.name.clone().unwrap_or_default(),
        user: request.spec.username.clone().unwrap_or_default(),
        node,
    })
}
