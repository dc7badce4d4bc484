//! The observed state of a cluster and its hosts.

use std::net::IpAddr;

use casement_diag::Problem;
use casement_resource::wire::HostFacts;
use casement_resource::{Diff, Failure};

/// The input of a diagnosis.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The hosts of the cluster file.
    pub hosts: Vec<HostObservation>,
    pub cluster: ClusterObservation,
}

/// What the Kubernetes API reports.
#[derive(Debug, Clone, Default)]
pub struct ClusterObservation {
    pub nodes: Vec<NodeObservation>,
    /// Pods that are scheduled but do not run.
    pub pods: Vec<PodObservation>,
    /// Certificate requests of kubelets that are neither approved nor denied.
    pub requests: Vec<PendingRequest>,
}

impl ClusterObservation {
    /// The Node of a host; Node names are lowercase.
    pub(crate) fn node(&self, host: &str) -> Option<&NodeObservation> {
        let host = host.to_lowercase();
        self.nodes.iter().find(|node| node.name == host)
    }
}

/// The part of the cluster file that checks compare a host with.
#[derive(Debug, Clone)]
pub struct ExpectedState {
    pub address: IpAddr,
    pub windows: bool,
    /// The name of the HNS network for pods.
    pub network: String,
    /// The directory of the CNI configuration.
    pub cni_dir: String,
    /// The minor version of Kubernetes.
    pub minor: u32,
}

#[derive(Debug, Clone)]
pub struct HostObservation {
    /// The name in the cluster file.
    pub name: String,
    pub expected: ExpectedState,
    /// Why casement could not connect; the fields below are then empty.
    pub unreachable: Option<Problem>,
    pub facts: Option<HostFacts>,
    /// Steps that are not in sync, and services that do not run.
    pub drifted: Vec<DriftedStep>,
    /// The end of the kubelet's log, if it does not run.
    pub kubelet_log: Option<String>,
    /// containerd's configuration, if it drifted.
    pub containerd: Option<String>,
    /// kube-proxy's configuration, if it drifted.
    pub proxy: Option<String>,
    /// The end of kube-proxy's log.
    pub proxy_log: Option<String>,
}

impl HostObservation {
    #[must_use]
    pub fn new(name: &str, expected: ExpectedState) -> Self {
        Self {
            name: name.to_owned(),
            expected,
            unreachable: None,
            facts: None,
            drifted: Vec::new(),
            kubelet_log: None,
            containerd: None,
            proxy: None,
            proxy_log: None,
        }
    }

    pub(crate) fn drifted(&self, id: &str) -> Option<&DriftedStep> {
        self.drifted.iter().find(|step| step.id == id)
    }
}

#[derive(Debug, Clone)]
pub struct DriftedStep {
    /// The id in the node document.
    pub id: String,
    /// A description for messages.
    pub title: String,
    /// The difference, or why it could not be determined.
    pub result: Result<Diff, Failure>,
}

#[derive(Debug, Clone)]
pub struct NodeObservation {
    pub name: String,
    pub ready: bool,
    /// The reason reported by the kubelet if the Node is not Ready.
    pub message: String,
    /// Internal addresses.
    pub addresses: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct PodObservation {
    /// `namespace/name`.
    pub name: String,
    pub node: String,
    /// Why its container waits.
    pub reason: String,
    /// The container's message, or the latest warning event.
    pub message: String,
}

/// A certificate request that is neither approved nor denied.
#[derive(Debug, Clone)]
pub struct PendingRequest {
    pub name: String,
    /// The requestor.
    pub user: String,
    /// The Node in the subject of the certificate.
    pub node: String,
}
