//! Networks of the Host Networking Service, as documents.
//!
//! Windows has two interfaces to one store: the first (`HNSCall`, flat documents)
//! is all there is before 1809 and what flannel's `host-gw` uses, the second
//! (HCN, schema 2) is what everything else speaks. Without the name of an
//! adapter HNS picks one; casement's agent names the one that has the host's
//! address, which no document can know before the host was seen.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::Late;
use crate::pod_network::PodNetwork;

#[path = "hns/v1.rs"]
mod first;
#[path = "hns/v2.rs"]
mod second;

pub use first::{FirstEndpoint, FirstNetwork, FirstSubnet};
pub use second::{
    Endpoint, Ipam, Modify, Network, NetworkPolicy, RemoteSubnetRoute, Request, Route,
    SchemaVersion, Subnet, SubnetPolicy,
};

/// The kind of an HNS network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NetworkType {
    /// VXLAN.
    Overlay,
    /// Pods on the host's own segment, addresses rewritten by the switch.
    L2Bridge,
    /// Pods on the host's own segment with addresses of their own.
    Transparent,
}

/// The network that exists so that the virtual switch does: with it, making and
/// deleting the pod network does not cut the host's connections again.
pub const EXTERNAL: &str = "External";

/// The isolation id of an external overlay, which no pod network has.
const EXTERNAL_VSID: u32 = 9999;

/// A network of a host, in words that both interfaces have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub network_type: NetworkType,
    /// Its addresses; a transparent one may leave them to DHCP.
    pub subnet: Option<Late<Ipv4Net>>,
    /// Who answers for the rest of the world.
    pub gateway: Option<Late<Ipv4Addr>>,
    /// What keeps it apart from others on the same wire.
    pub isolation: Option<u32>,
    /// The adapter it is made on.
    pub adapter: Option<String>,
    /// Whether it is there after a reboot.
    pub persistent: bool,
}

impl Wanted {
    /// The network that keeps the virtual switch.
    pub fn external(network_type: NetworkType, adapter: Option<&str>) -> Self {
        let gateway = Ipv4Addr::new(192, 168, 255, 1);
        let subnet = Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 255, 0), 30);
        Self {
            name: EXTERNAL.to_owned(),
            network_type,
            subnet: Some(Late::Known(subnet)),
            gateway: Some(Late::Known(gateway)),
            isolation: (network_type == NetworkType::Overlay).then_some(EXTERNAL_VSID),
            adapter: adapter.map(str::to_owned),
            persistent: true,
        }
    }

    /// An overlay for pods, as flanneld makes it: gone after a reboot.
    pub fn overlay(name: &str, vni: u32, pods: Late<PodNetwork>, adapter: Option<&str>) -> Self {
        Self {
            isolation: Some(vni),
            persistent: false,
            ..Self::pods(name, NetworkType::Overlay, pods, adapter)
        }
    }

    /// A bridge for pods.
    pub fn bridge(name: &str, pods: Late<PodNetwork>, adapter: Option<&str>) -> Self {
        Self::pods(name, NetworkType::L2Bridge, pods, adapter)
    }

    /// Pods on the wire itself, as in the days of Windows Server 2016.
    pub fn transparent(name: &str, pods: Late<PodNetwork>, adapter: Option<&str>) -> Self {
        Self::pods(name, NetworkType::Transparent, pods, adapter)
    }

    fn pods(
        name: &str,
        network_type: NetworkType,
        pods: Late<PodNetwork>,
        adapter: Option<&str>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            network_type,
            subnet: Some(pods.map(PodNetwork::net)),
            gateway: Some(pods.map(PodNetwork::gateway)),
            isolation: None,
            adapter: adapter.map(str::to_owned),
            persistent: true,
        }
    }
}

#[cfg(test)]
mod tests;
