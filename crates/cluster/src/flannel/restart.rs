//! Restarts flannel on all Linux nodes at once and waits until each daemon reports the
//! new VNI.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, Preconditions, WatchParams};
use tokio::time::{Instant, timeout};

use crate::change::ObjectRef;
use crate::client::ClusterClient;
use crate::error::ClusterError;

/// Generous: the image is already pulled, so it usually takes less than a minute.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Node annotations change without a pod event.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl ClusterClient {
    /// Deletes all of flannel's Linux pods in the namespace of this DaemonSet and waits
    /// until every node has a ready one that reports this VNI.
    pub(crate) async fn restart_flannel(
        &self,
        daemon_set: &ObjectRef,
        vni: u32,
        on_progress: &(dyn Fn(String) + Sync),
    ) -> Result<(), ClusterError> {
        let namespace = daemon_set.namespace.as_deref().unwrap_or_default();
        // Not part of the plan: a DaemonSet may have been added since.
        let selectors = self.flannel_selectors(namespace).await?;
        if selectors.is_empty() {
            return Ok(());
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        self.set_restart_pending(true).await?;
        let (old, _) = self.flannel_pods(&pods, &selectors).await?;
        try_join_all(old.iter().map(|pod| self.delete_pod(&pods, pod))).await?;
        let gone: BTreeSet<&str> = old.iter().filter_map(uid).collect();
        let nodes: BTreeSet<String> = old.iter().filter_map(node_of).collect();
        self.wait_for_flannel(
            &pods,
            &selectors,
            &Expected { nodes, gone, vni },
            on_progress,
        )
        .await?;
        self.set_restart_pending(false).await?;
        self.delete_empty_state().await
    }

    async fn flannel_pods(
        &self,
        pods: &Api<Pod>,
        selectors: &[String],
    ) -> Result<(Vec<Pod>, String), ClusterError> {
        let (mut found, mut version) = (Vec::new(), String::new());
        for selector in selectors {
            let list = pods.list(&ListParams::default().labels(selector)).await;
            let list = list.map_err(self.failed("list flannel's pods"))?;
            version = list.metadata.resource_version.unwrap_or_default();
            found.extend(list.items);
        }
        Ok((found, version))
    }

    async fn delete_pod(&self, pods: &Api<Pod>, pod: &Pod) -> Result<(), ClusterError> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: pod.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match pods.delete(&name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(self.failed(format!("restart Pod {name}"))(error)),
        }
    }

    async fn wait_for_flannel(
        &self,
        pods: &Api<Pod>,
        selectors: &[String],
        expected: &Expected<'_>,
        on_progress: &(dyn Fn(String) + Sync),
    ) -> Result<(), ClusterError> {
        let end = Instant::now() + TIMEOUT;
        let mut last = usize::MAX;
        loop {
            let (behind, version) = self.behind(pods, selectors, expected).await?;
            if behind.is_empty() {
                return Ok(());
            }
            if behind.len() != last {
                last = behind.len();
                let all = expected.nodes.len();
                on_progress(format!("flannel is ready on {} of {all} nodes", all - last));
            }
            if Instant::now() >= end {
                return Err(ClusterError::FlannelNotReady {
                    vni: expected.vni,
                    seconds: TIMEOUT.as_secs(),
                    nodes: behind,
                });
            }
            let watch = pods.watch(&WatchParams::default(), &version).await;
            let mut watch = watch.map_err(self.failed("watch flannel's pods"))?.boxed();
            let _ = timeout(POLL_INTERVAL, watch.next()).await;
        }
    }

    /// The nodes that are not ready yet, each with its state.
    async fn behind(
        &self,
        pods: &Api<Pod>,
        selectors: &[String],
        expected: &Expected<'_>,
    ) -> Result<(BTreeMap<String, String>, String), ClusterError> {
        let (list, version) = self.flannel_pods(pods, selectors).await?;
        let fresh: BTreeSet<String> = list
            .iter()
            .filter(|pod| uid(pod).is_some_and(|uid| !expected.gone.contains(uid)))
            .filter(|pod| is_ready(pod))
            .filter_map(node_of)
            .collect();
        let mut behind = BTreeMap::new();
        // A node that was deleted meanwhile is not waited for.
        for node in self.nodes().await? {
            if !expected.nodes.contains(&node.name) {
                continue;
            }
            let vni = node.flannel.as_ref().and_then(|lease| lease.vni);
            if !fresh.contains(&node.name) {
                behind.insert(node.name, "the pod is not ready".to_owned());
            } else if vni != Some(expected.vni) {
                let found = vni.map_or("none".to_owned(), |vni| vni.to_string());
                behind.insert(node.name, format!("the annotation has VNI {found}"));
            }
        }
        Ok((behind, version))
    }
}

struct Expected<'a> {
    nodes: BTreeSet<String>,
    gone: BTreeSet<&'a str>,
    vni: u32,
}

fn uid(pod: &Pod) -> Option<&str> {
    pod.metadata.uid.as_deref()
}

fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone()
}

fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it.type_ == "Ready" && it.status == "True")
}
