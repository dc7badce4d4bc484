//! Observes a cluster, before anything is planned.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ListParams};
use serde::{Deserialize, Serialize};

use crate::change::{ClusterChange, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;

mod cni;
mod daemon_set;
mod kubeadm;
mod node;
mod pin;

pub use cni::Cni;
pub use daemon_set::DaemonSetFacts;
pub use node::ObservedNode;
pub(crate) use node::{pod_cidrs as node_pod_cidrs, ready as node_ready, taints as node_taints};

/// A cluster created by kubeadm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedCluster {
    /// The API server's URL in the kubeconfig.
    pub server: String,
    /// The server's version, with the leading `v`.
    pub version: String,
    /// Where nodes reach the API server (`10.3.0.1:6443`).
    pub endpoint: String,
    pub pod_cidrs: Vec<String>,
    pub service_cidrs: Vec<String>,
    /// For example `cluster.local`.
    pub dns_domain: String,
    /// DNS addresses, from the kubelet configuration.
    pub cluster_dns: Vec<String>,
    /// CA certificate hashes for `kubeadm join` (`sha256:…`).
    pub ca_hashes: Vec<String>,
    pub ca_pem: String,
    /// Sorted by name.
    pub nodes: Vec<ObservedNode>,
    pub daemon_sets: Vec<DaemonSetFacts>,
    /// The pod network, if its DaemonSet is recognized.
    pub cni: Option<Cni>,
}

impl ObservedCluster {
    /// Names are compared in lower case.
    pub fn node(&self, name: &str) -> Option<&ObservedNode> {
        let name = name.to_lowercase();
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The changes that keep Linux DaemonSets off Windows nodes.
    pub fn os_selector_changes(&self) -> Vec<ClusterChange> {
        let sets = self.daemon_sets.iter();
        sets.filter_map(DaemonSetFacts::os_selector_change)
            .collect()
    }
}

impl ClusterClient {
    /// Reads only.
    pub async fn observe(&self) -> Result<ObservedCluster, ClusterError> {
        let (kubeadm, kubelet, info) = tokio::try_join!(
            self.config_map("kube-system", "kubeadm-config", "ClusterConfiguration"),
            self.config_map("kube-system", "kubelet-config", "kubelet"),
            self.config_map("kube-public", "cluster-info", "kubeconfig"),
        )?;
        let (nodes, sets) = tokio::try_join!(self.nodes(), self.daemon_sets())?;
        let kubeadm = kubeadm::configuration(&kubeadm)?;
        let kubelet = kubeadm::kubelet(&kubelet)?;
        let info = kubeadm::cluster_info(&info)?;
        let endpoint = match kubeadm.endpoint.is_empty() {
            true => info.endpoint,
            false => kubeadm.endpoint,
        };
        Ok(ObservedCluster {
            server: self.server.clone(),
            version: self.version().to_owned(),
            endpoint,
            pod_cidrs: kubeadm.pod_cidrs,
            service_cidrs: kubeadm.service_cidrs,
            dns_domain: kubeadm.dns_domain,
            cluster_dns: kubelet,
            ca_hashes: pin::hashes(&info.ca_pem)?,
            ca_pem: info.ca_pem,
            nodes,
            cni: cni::found(&sets),
            daemon_sets: sets.iter().map(DaemonSetFacts::of).collect(),
        })
    }

    async fn config_map(
        &self,
        namespace: &str,
        name: &str,
        key: &str,
    ) -> Result<String, ClusterError> {
        let object = ObjectRef::new("v1", "ConfigMap", Some(namespace), name);
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await;
        let found = found.map_err(self.failed(format!("read {object}")))?;
        let value = found.and_then(|found| found.data?.remove(key));
        value.ok_or(ClusterError::NotKubeadm {
            object: Box::new(object),
        })
    }

    pub(crate) async fn nodes(&self) -> Result<Vec<ObservedNode>, ClusterError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(self.failed("list Nodes"))?;
        let mut nodes: Vec<_> = list.iter().map(ObservedNode::of).collect();
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(nodes)
    }

    async fn daemon_sets(&self) -> Result<Vec<DaemonSet>, ClusterError> {
        let api: Api<DaemonSet> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await;
        Ok(list.map_err(self.failed("list DaemonSets"))?.items)
    }
}
