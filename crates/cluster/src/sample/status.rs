//! How the sample does: its pods with the reason that keeps them, and where its
//! Services answer.

use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, ListParams, WatchParams};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::{NAME, PART_OF};
use crate::connect::Cluster;
use crate::error::ClusterError;

/// One Deployment of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplePart {
    /// Its name.
    pub name: String,
    /// How many pods it should have.
    pub wanted: i32,
    /// How many answer.
    pub ready: i32,
    /// The nodes that its pods are on.
    pub nodes: Vec<String>,
    /// Why one does not answer yet; empty when all do.
    pub reason: String,
}

/// One Service of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleService {
    /// Its name.
    pub name: String,
    /// `ClusterIP` and its like.
    pub kind: String,
    /// Where it answers inside the cluster.
    pub cluster_ip: String,
    /// The port of every node, if it has one.
    pub node_port: Option<i32>,
    /// Addresses from outside, as far as they are given.
    pub addresses: Vec<String>,
}

/// The whole sample.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleStatus {
    /// Its Deployments.
    pub parts: Vec<SamplePart>,
    /// Its Services.
    pub services: Vec<SampleService>,
}

impl SampleStatus {
    /// Whether every pod answers.
    pub fn is_ready(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.ready >= part.wanted)
    }
}

/// Between two looks at most.
const MOMENT: Duration = Duration::from_millis(500);

impl Cluster {
    /// How the sample does now; empty if it is not there.
    pub async fn sample_status(&self, namespace: &str) -> Result<SampleStatus, ClusterError> {
        self.look_at_sample(namespace)
            .await
            .map(|(status, _)| status)
    }

    /// Waits until every pod answers, or time is up; `tell` hears each state on
    /// the way. The last state says which it was.
    pub async fn wait_for_sample(
        &self,
        namespace: &str,
        limit: Duration,
        tell: &(dyn Fn(&SampleStatus) + Sync),
    ) -> Result<SampleStatus, ClusterError> {
        let end = Instant::now() + limit;
        loop {
            let (status, version) = self.look_at_sample(namespace).await?;
            tell(&status);
            if status.is_ready() || status.parts.is_empty() || Instant::now() >= end {
                return Ok(status);
            }
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
            let params = WatchParams::default()
                .labels(&format!("{PART_OF}={NAME}"))
                .timeout(10);
            let watch = pods.watch(&params, &version).await;
            let mut watch = watch.map_err(self.failed("watch pods"))?.boxed();
            // Whatever comes, it is looked at again; a Deployment counts its pods a
            // moment after they have changed, and is not watched.
            let soon = end.min(Instant::now() + MOMENT);
            let _ = timeout_at(soon, watch.next()).await;
        }
    }

    async fn look_at_sample(
        &self,
        namespace: &str,
    ) -> Result<(SampleStatus, String), ClusterError> {
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
            .find_map(|pod| held_by(pod))
            .unwrap_or_else(|| "its pods do not answer yet".to_owned()),
    };
    SamplePart {
        name,
        wanted,
        ready,
        nodes,
        reason,
    }
}

/// What keeps a pod, in its own words: an image that does not come, a node that
/// is not there.
fn held_by(pod: &Pod) -> Option<String> {
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
