//! What was seen of the cluster, and what was prepared for its hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_net::routes::Peer;
use casement_net::{Late, address_plan};
use casement_resource::{Blob, Secret, SecretName};
use casement_spec::defaults::API_PORT;
use casement_spec::{Cluster, Program, Role};
use ipnet::Ipv4Net;

/// What the controller has read before it plans.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The programs of a Windows node.
    pub programs: BTreeMap<Program, Blob>,
    /// Whether a program without a hash is left out of a document, because it is
    /// only shown; else it is an error.
    pub open_programs: bool,
    /// Packages of updates, by their paths in the spec.
    pub updates: BTreeMap<String, Blob>,
    /// The CA of the image registry, PEM, where the spec names one.
    pub registry_ca: Option<String>,
    /// The secrets that documents name. None of them is ever in one.
    pub secrets: BTreeMap<SecretName, Secret>,
    /// What changes with them, and is in documents.
    pub fingerprints: BTreeMap<SecretName, String>,
}

impl Inputs {
    /// Takes a secret of a cluster over.
    pub fn give(&mut self, cluster: &Cluster, name: SecretName, value: Secret) {
        let salt = format!("{}/{name}", cluster.metadata.name);
        let fingerprint = value.fingerprint(&salt);
        self.fingerprints.insert(name.clone(), fingerprint);
        self.secrets.insert(name, value);
    }
}

/// What was seen through the Kubernetes API.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// The API server as nodes reach it, `host:port`.
    pub api_server: String,
    /// Pins of the cluster's CA, `sha256:…`.
    pub ca_hashes: Vec<String>,
    /// The cluster's CA, PEM.
    pub ca: String,
    /// All nodes.
    pub nodes: Vec<NodeFacts>,
}

/// A Node as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its InternalIP, where it has an IPv4 one.
    pub address: Option<Ipv4Addr>,
    /// Its pods, once the control plane has given it some.
    pub pods: Option<Ipv4Net>,
}

impl ClusterFacts {
    /// What a spec alone says of its cluster: the nodes are its hosts, and only
    /// pod networks that the file gives are known.
    ///
    /// The API server is the spec's endpoint, else the first control-plane host;
    /// pins and CA are the cluster's to tell, and stay empty.
    pub fn of_spec(cluster: &Cluster) -> Self {
        let spec = &cluster.spec;
        let endpoint = spec.kubernetes.endpoint.as_ref();
        let first = cluster.hosts_with(Role::ControlPlane).next();
        let api_server = match (endpoint, first) {
            (Some(endpoint), _) => endpoint.to_string(),
            (None, Some(host)) => format!("{}:{API_PORT}", host.address),
            (None, None) => Late::<()>::WORDS.to_owned(),
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

    /// The same, with a pod network for every node that has none: the parts of
    /// the cluster's, in the order of the hosts.
    ///
    /// The control plane may well give them in another order: it is for reading.
    ///
    /// # Errors
    /// When the parts do not suffice.
    pub fn assumed(cluster: &Cluster) -> Result<Self, address_plan::PlanError> {
        let mut facts = Self::of_spec(cluster);
        let given: Vec<Option<Ipv4Net>> = facts.nodes.iter().map(|node| node.pods).collect();
        let pods = cluster.spec.kubernetes.pod_cidr.net();
        let parts = address_plan::assign(pods, address_plan::NODE_PREFIX, &given)?;
        for (node, part) in facts.nodes.iter_mut().zip(parts) {
            node.pods = Some(part);
        }
        Ok(facts)
    }

    /// The nodes whose pods can be routed to.
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

    /// The pods of one node; names compare in lower case, as Kubernetes has them.
    pub fn pods_of(&self, name: &str) -> Option<Ipv4Net> {
        self.nodes
            .iter()
            .find(|node| node.name.eq_ignore_ascii_case(name))
            .and_then(|node| node.pods)
    }
}
