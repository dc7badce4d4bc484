//! Documents of the Host Networking Service (HNS).
//!
//! Windows has two APIs for the same store: v1 (`HNSCall`, flat documents), the only
//! one before 1809 and the one that flannel `host-gw` uses, and v2 (HCN, schema 2).
//! Without an adapter name HNS selects one itself; the agent sets the adapter with
//! the address of the host, which is not known before the host is inspected.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::Deferred;
use crate::pod_network::PodNetwork;

mod v1;
mod v2;

pub use v1::{EndpointV1, NetworkV1, SubnetV1};
pub use v2::{
    Endpoint, Ipam, Modify, Network, NetworkPolicy, RemoteSubnetRoute, Request, Route,
    SchemaVersion, Subnet, SubnetPolicy,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NetworkType {
    Overlay,
    /// Pods on the segment of the host; the switch rewrites MAC addresses.
    L2Bridge,
    /// Pods on the segment of the host with their own MAC addresses.
    Transparent,
}

/// Keeps the virtual switch alive, so that creating and deleting the pod network does
/// not interrupt the connections of the host again.
pub const EXTERNAL: &str = "External";

/// Not used by any pod network.
const EXTERNAL_VSID: u32 = 9999;

/// The desired state of a network, independent of the API version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSpec {
    pub name: String,
    pub network_type: NetworkType,
    /// `None`: DHCP (transparent networks only).
    pub subnet: Option<Deferred<Ipv4Net>>,
    pub gateway: Option<Deferred<Ipv4Addr>>,
    /// The VSID.
    pub isolation: Option<u32>,
    pub adapter: Option<String>,
    /// Whether it survives a reboot.
    pub persistent: bool,
}

impl NetworkSpec {
    pub fn external(network_type: NetworkType, adapter: Option<&str>) -> Self {
        let gateway = Ipv4Addr::new(192, 168, 255, 1);
        let subnet = Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 255, 0), 30);
        Self {
            name: EXTERNAL.to_owned(),
            network_type,
            subnet: Some(Deferred::Known(subnet)),
            gateway: Some(Deferred::Known(gateway)),
            isolation: (network_type == NetworkType::Overlay).then_some(EXTERNAL_VSID),
            adapter: adapter.map(str::to_owned),
            persistent: true,
        }
    }

    /// As created by flanneld: removed by a reboot.
    pub fn overlay(
        name: &str,
        vni: u32,
        pods: Deferred<PodNetwork>,
        adapter: Option<&str>,
    ) -> Self {
        Self {
            isolation: Some(vni),
            persistent: false,
            ..Self::pods(name, NetworkType::Overlay, pods, adapter)
        }
    }

    pub fn bridge(name: &str, pods: Deferred<PodNetwork>, adapter: Option<&str>) -> Self {
        Self::pods(name, NetworkType::L2Bridge, pods, adapter)
    }

    /// For Windows Server 2016.
    pub fn transparent(name: &str, pods: Deferred<PodNetwork>, adapter: Option<&str>) -> Self {
        Self::pods(name, NetworkType::Transparent, pods, adapter)
    }

    fn pods(
        name: &str,
        network_type: NetworkType,
        pods: Deferred<PodNetwork>,
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
