//! The sample's status: its pods, with the reason if they are not ready, and the
//! addresses of its Services.

use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, ListParams, WatchParams};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::{NAME, PART_OF};
use crate::client::ClusterClient;
use crate::error::ClusterError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplePart {
    pub name: String,
    /// Desired pods.
    #[serde(rename = "desired")]
    pub wanted: i32,
    /// Ready pods.
    pub ready: i32,
    pub nodes: Vec<String>,
    /// Why a pod is not ready; empty if all are.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleService {
    pub name: String,
    /// For example `ClusterIP`.
    pub kind: String,
    pub cluster_ip: String,
    pub node_port: Option<i32>,
    /// External addresses.
    pub addresses: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleStatus {
    pub parts: Vec<SamplePart>,
    pub services: Vec<SampleService>,
}

impl SampleStatus {
    pub fn is_ready(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.ready >= part.wanted)
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl ClusterClient {
    /// Empty if the sample is not deployed.
    pub async fn sample_status(&self, namespace: &str) -> Result<SampleStatus, ClusterError> {
        self.read_sample(namespace).await.map(|(status, _)| status)
    }

    /// Waits until every pod is ready or the limit is reached; `on_status` receives
    /// each state. Returns the last one.
    pub async fn wait_for_sample(
        &self,
        namespace: &str,
        limit: Duration,
        on_status: &(dyn Fn(&SampleStatus) + Sync),
    ) -> Result<SampleStatus, ClusterError> {
        let end = Instant::now() + limit;
        loop {
            let (status, version) = self.read_sample(namespace).await?;
            on_status(&status);
            if status.is_ready() || status.parts.is_empty() || Instant::now() >= end {
                return Ok(status);
            }
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
            let params = WatchParams::default()
                .labels(&format!("{PART_OF}={NAME}"))
                .timeout(10);
            let watch = pods.watch(&params, &version).await;
            let mut watch = watch.map_err(self.failed("watch pods"))?.boxed();
            // Read again after any event; Deployments are not watched, and count their
            // pods a moment later.
            let soon = end.min(Instant::now() + POLL_INTERVAL);
            let _ = timeout_at(soon, watch.next()).await;
        }
    }

    async fn read_sample(&self, namespace: &str) -> Result<(SampleStatus, String), ClusterError> {
        let params = ListParams::default().labels(&format!("{PART_OF}={NAME}"));
        let sets: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let pods = pods.list(&params).await;
        let pods = pods.map_err(self.failed("list pods"))?;
        let sets = sets.list(&params).await;
        let sets = sets.map_err(self.failed("list Deployments"))?;
        let services = services.list(&params).await;
        let services = services.map_err(self.failed("list Services"))?;
        let version = pods.metadata.resource_version.clone().unwrap_or_default();
        let status = SampleStatus {
            parts: sets.iter().map(|set| part(set, &pods.items)).collect(),
            services: services.iter().map(service).collect(),
        };
        Ok((status, version))
    }
}

fn part(set: &Deployment, pods: &[Pod]) -> SamplePart {
    let name = set.metadata.name.clone().unwrap_or_default();
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas);
    let ready = set.status.as_ref().and_then(|status| status.ready_replicas);
    let (wanted, ready) = (wanted.unwrap_or(1), ready.unwrap_or(0));
    let of_set = |pod: &&Pod| {
        let labels = pod.metadata.labels.as_ref();
        labels.and_then(|it| it.get("app.kubernetes.io/name")) == Some(&name)
    };
    let pods: Vec<&Pod> = pods.iter().filter(of_set).collect();
    let nodes = pods.iter().filter_map(|pod| pod.spec.as_ref());
    let nodes = nodes.filter_map(|spec| spec.node_name.clone()).collect();
    let reason = match ready >= wanted {
        true => String::new(),
        false => pods
            .iter()
            .find_map(|pod| waiting_reason(pod))
            .unwrap_or_else(|| "its pods are not ready yet".to_owned()),
    };
    SamplePart {
        name,
        wanted,
        ready,
        nodes,
        reason,
    }
}

/// For example an image that cannot be pulled, or no node to schedule on.
fn waiting_reason(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = status.container_statuses.iter().flatten();
    let waiting = containers
        .filter_map(|container| container.state.as_ref()?.waiting.as_ref())
        .find_map(|it| Some((it.reason.clone()?, it.message.clone().unwrap_or_default())));
    let conditions = status.conditions.iter().flatten();
    let unscheduled = conditions
        .filter(|it| it.type_ == "PodScheduled" && it.status == "False")
        .find_map(|it| Some((it.reason.clone()?, it.message.clone().unwrap_or_default())));
    let (reason, message) = waiting.or(unscheduled)?;
    Some(match message.is_empty() {
        true => reason,
        false => format!("{reason}: {message}"),
    })
}

fn service(service: &Service) -> SampleService {
    let spec = service.spec.clone().unwrap_or_default();
    let ports = spec.ports.unwrap_or_default();
    let balancer = service
        .status
        .as_ref()
        .and_then(|status| status.load_balancer.as_ref());
    let ingress = balancer.and_then(|balancer| balancer.ingress.as_ref());
    let ingress = ingress.into_iter().flatten();
    SampleService {
        name: service.metadata.name.clone().unwrap_or_default(),
        kind: spec.type_.unwrap_or_else(|| "ClusterIP".to_owned()),
        cluster_ip: spec.cluster_ip.unwrap_or_default(),
        node_port: ports.first().and_then(|port| port.node_port),
        addresses: ingress
            .filter_map(|it| it.ip.clone().or_else(|| it.hostname.clone()))
            .collect(),
    }
}
