//! Collects stuck nodes, pods and certificate requests, for `doctor`.

use casement_verify::{ClusterObservation, NodeObservation, PendingRequest, PodObservation};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{Api, ListParams};

use crate::client::ClusterClient;
use crate::csr::{SIGNER, subject};
use crate::error::ClusterError;
use crate::facts::{ObservedNode, node_ready};

impl ClusterClient {
    /// Reads only.
    pub async fn diagnose(&self) -> Result<ClusterObservation, ClusterError> {
        let (nodes, pods, requests) = tokio::try_join!(
            self.node_observations(),
            self.stuck_pods(),
            self.pending_requests()
        )?;
        Ok(ClusterObservation {
            nodes,
            pods,
            requests,
        })
    }

    async fn node_observations(&self) -> Result<Vec<NodeObservation>, ClusterError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list Nodes"))?;
        Ok(list.iter().map(node_observation).collect())
    }

    async fn stuck_pods(&self) -> Result<Vec<PodObservation>, ClusterError> {
        let api: Api<Pod> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list Pods"))?;
        let mut stuck = Vec::new();
        for pod in &list {
            let Some(mut found) = stuck_pod(pod) else {
                continue;
            };
            if found.message.is_empty() {
                found.message = self.latest_warning(pod).await?;
            }
            stuck.push(found);
        }
        Ok(stuck)
    }

    async fn latest_warning(&self, pod: &Pod) -> Result<String, ClusterError> {
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

    async fn pending_requests(&self) -> Result<Vec<PendingRequest>, ClusterError> {
        let api: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list CertificateSigningRequests"))?;
        Ok(list.iter().filter_map(pending).collect())
    }
}

fn node_observation(node: &Node) -> NodeObservation {
    let facts = ObservedNode::of(node);
    let message = node_ready(node).and_then(|condition| condition.message.clone());
    NodeObservation {
        name: facts.name,
        ready: facts.ready,
        message: message.unwrap_or_default(),
        addresses: facts.addresses,
    }
}

fn stuck_pod(pod: &Pod) -> Option<PodObservation> {
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
    Some(PodObservation {
        name: format!("{namespace}/{name}"),
        node,
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    })
}

fn pending(request: &CertificateSigningRequest) -> Option<PendingRequest> {
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
    Some(PendingRequest {
        name: request.metadata.name.clone().unwrap_or_default(),
        user: request.spec.username.clone().unwrap_or_default(),
        node,
    })
}
