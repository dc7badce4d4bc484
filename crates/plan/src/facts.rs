//! What was seen of the cluster, and what was prepared for its hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_net::routes::Peer;
use casement_resource::Sha256;
use casement_spec::Program;
use ipnet::Ipv4Net;

/// A file that hosts get, known by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its hash, which is also its name on a host.
    pub sha256: Sha256,
    /// Its size in bytes.
    pub size: u64,
}

/// What the controller has read before it plans.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The programs of a Windows node.
    pub programs: BTreeMap<Program, Blob>,
    /// The CA of the image registry, PEM, where the spec names one.
    pub registry_ca: Option<String>,
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
