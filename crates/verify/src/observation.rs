//! What was seen of a cluster.

use std::net::IpAddr;

use casement_diag::Problem;
use casement_resource::wire::HostFacts;
use casement_resource::{Diff, Failure};

/// Everything that was looked at.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The hosts of the file.
    pub hosts: Vec<HostSeen>,
    /// The cluster's Nodes.
    pub nodes: Vec<NodeSeen>,
    /// Pods on Windows nodes that do not run.
    pub pods: Vec<PodSeen>,
    /// Kubelets that wait for somebody to approve them.
    pub requests: Vec<RequestSeen>,
}

impl Seen {
    /// The Node of a host; names are compared in lower case.
    pub(crate) fn node(&self, host: &str) -> Option<&NodeSeen> {
        let host = host.to_lowercase();
        self.nodes.iter().find(|node| node.name == host)
    }
}

/// What the file wants of a host, as far as causes are looked for there.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its address.
    pub address: IpAddr,
    /// Whether it runs Windows.
    pub windows: bool,
    /// The network of its pods.
    pub network: String,
    /// Where its CNI configuration is.
    pub cni_folder: String,
    /// The minor version of Kubernetes.
    pub minor: u32,
}

/// One host.
#[derive(Debug, Clone)]
pub struct HostSeen {
    /// Its name in the file.
    pub name: String,
    /// What the file wants.
    pub wanted: Wanted,
    /// Why it could not be asked; nothing else is known then.
    pub unreachable: Option<Problem>,
    /// What it is.
    pub facts: Option<HostFacts>,
    /// Each step of its documents that is not right, and each service that does
    /// not run.
    pub wrong: Vec<StepSeen>,
    /// The end of the kubelet's log, if that does not run.
    pub kubelet_log: Option<String>,
    /// containerd's configuration, if that is not as casement wrote it.
    pub containerd: Option<String>,
    /// kube-proxy's configuration, if that is not as casement wrote it.
    pub proxy: Option<String>,
    /// The end of kube-proxy's log.
    pub proxy_log: Option<String>,
}

impl HostSeen {
    /// A host of which nothing was seen yet.
    #[must_use]
    pub fn new(name: &str, wanted: Wanted) -> Self {
        Self {
            name: name.to_owned(),
            wanted,
            unreachable: None,
            facts: None,
            wrong: Vec::new(),
            kubelet_log: None,
            containerd: None,
            proxy: None,
            proxy_log: None,
        }
    }

    /// What is wrong with a step, by its id.
    pub(crate) fn wrong(&self, id: &str) -> Option<&StepSeen> {
        self.wrong.iter().find(|step| step.id == id)
    }
}

/// A step that is not right.
#[derive(Debug, Clone)]
pub struct StepSeen {
    /// Its id in the document.
    pub id: String,
    /// What it is about, for people.
    pub what: String,
    /// What differs, or why that cannot be said.
    pub seen: Result<Diff, Failure>,
}

/// One Node.
#[derive(Debug, Clone)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Whether it is Ready.
    pub ready: bool,
    /// Why not, in its kubelet's words.
    pub message: String,
    /// Its internal addresses.
    pub addresses: Vec<String>,
}

/// A pod that does not run.
#[derive(Debug, Clone)]
pub struct PodSeen {
    /// `namespace/name`.
    pub name: String,
    /// The Node that it was given to.
    pub node: String,
    /// What it waits for.
    pub reason: String,
    /// What was said of it last.
    pub message: String,
}

/// A request for a certificate that nobody has decided.
#[derive(Debug, Clone)]
pub struct RequestSeen {
    /// Its name.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// Whom the certificate would be for.
    pub node: String,
}
