//! The inputs of a plan: facts about the cluster, and local files for its hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_net::routes::Peer;
use casement_net::{Deferred, address_plan};
use casement_resource::{Blob, Secret, SecretName};
use casement_spec::defaults::API_PORT;
use casement_spec::{Cluster, Program, Role};
use ipnet::Ipv4Net;

/// What the controller reads before planning.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    pub programs: BTreeMap<Program, Blob>,
    /// Leaves programs without a known hash out of documents that are only shown; otherwise
    /// they are errors.
    pub allow_missing_programs: bool,
    /// Update packages by their paths in the spec.
    pub updates: BTreeMap<String, Blob>,
    /// The CA of the image registry, in PEM.
    pub registry_ca: Option<String>,
    /// The secrets that documents refer to by name.
    pub secrets: BTreeMap<SecretName, Secret>,
    /// Part of documents, so that a changed secret is a change of the document.
    pub fingerprints: BTreeMap<SecretName, String>,
}

impl Inputs {
    pub fn add_secret(&mut self, cluster: &Cluster, name: SecretName, value: Secret) {
        let salt = format!("{}/{name}", cluster.metadata.name);
        let fingerprint = value.fingerprint(&salt);
        self.fingerprints.insert(name.clone(), fingerprint);
        self.secrets.insert(name, value);
    }
}

/// Observed through the Kubernetes API.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// `host:port`, as nodes reach it.
    pub api_server: String,
    /// Pins of the cluster's CA, `sha256:…`.
    pub ca_hashes: Vec<String>,
    /// In PEM.
    pub ca: String,
    pub nodes: Vec<NodeFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: String,
    /// The IPv4 InternalIP.
    pub address: Option<Ipv4Addr>,
    /// The pod CIDR, once the control plane has assigned one.
    pub pods: Option<Ipv4Net>,
}

impl ClusterFacts {
    /// What the spec alone tells: hosts as nodes, pod networks only where the file sets them,
    /// the API server from the endpoint or the first control-plane host, no CA.
    pub fn of_spec(cluster: &Cluster) -> Self {
        let spec = &cluster.spec;
        let endpoint = spec.kubernetes.endpoint.as_ref();
        let first = cluster.hosts_with(Role::ControlPlane).next();
        let api_server = match (endpoint, first) {
            (Some(endpoint), _) => endpoint.to_string(),
            (None, Some(host)) => format!("{}:{API_PORT}", host.address),
            (None, None) => Deferred::<()>::AFTER_JOIN.to_owned(),
        };
        let nodes = spec.hosts.iter().map(|host| NodeFacts {
            name: host.name.to_string(),
            address: Some(host.address),
            pods: host.pod_cidr.map(|pods| pods.net()),
        });
        Self {
            api_server,
            ca_hashes: Vec::new(),
            ca: String::new(),
            nodes: nodes.collect(),
        }
    }

    /// The same, with assumed pod networks for nodes without one, in the order of the hosts.
    /// For display only: the control plane may assign them in another order.
    ///
    /// # Errors
    /// The pod network of the cluster is too small.
    pub fn assumed(cluster: &Cluster) -> Result<Self, address_plan::PlanError> {
        let mut facts = Self::of_spec(cluster);
        let assigned: Vec<Option<Ipv4Net>> = facts.nodes.iter().map(|node| node.pods).collect();
        let pods = cluster.spec.kubernetes.pod_cidr.net();
        let parts = address_plan::assign(pods, address_plan::NODE_PREFIX, &assigned)?;
        for (node, part) in facts.nodes.iter_mut().zip(parts) {
            node.pods = Some(part);
        }
        Ok(facts)
    }

    /// The same with what is known now of one node. The order of the nodes, which is that
    /// of a document's routes, stays.
    #[must_use]
    pub fn with_node(&self, node: NodeFacts) -> Self {
        let mut facts = self.clone();
        let mut nodes = facts.nodes.iter_mut();
        match nodes.find(|known| known.name.eq_ignore_ascii_case(&node.name)) {
            Some(known) => (known.address, known.pods) = (node.address, node.pods),
            None => facts.nodes.push(node),
        }
        facts
    }

    /// The nodes with a known address and pod network.
    pub fn peers(&self) -> Vec<Peer> {
        self.nodes
            .iter()
            .filter_map(|node| {
                Some(Peer {
                    name: node.name.clone(),
                    address: node.address?,
                    pods: node.pods?,
                })
            })
            .collect()
    }

    /// Ignores case: Kubernetes has lower-case names.
    pub fn pods_of(&self, name: &str) -> Option<Ipv4Net> {
        self.nodes
            .iter()
            .find(|node| node.name.eq_ignore_ascii_case(name))
            .and_then(|node| node.pods)
    }
}
