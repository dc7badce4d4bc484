//! Documents that the agent sends to the Host Networking Service (HNS), and that
//! `casement render hns` shows.
//!
//! Windows has two APIs for the same store: v1 (`HNSCall`, flat documents), the only one
//! before Server 2019, and v2 (HCN, schema 2). Sources: microsoft/hcsshim:hcn,
//! MicrosoftDocs/Virtualization-Documentation:virtualization/api/hcn.
//!
//! ```
//! use casement_net::Deferred;
//! use casement_net::hns::{Network, NetworkSpec};
//! use casement_net::pod_network::PodNetwork;
//!
//! let pods = PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap();
//! let spec = NetworkSpec::bridge("cbr0", Deferred::Known(pods));
//! let document = casement_net::value(&Network::from(&spec));
//! assert_eq!(document["Ipams"][0]["Subnets"][0]["IpAddressPrefix"], "10.244.3.0/24");
//! ```

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use serde::Serialize;

use crate::Deferred;
use crate::pod_network::PodNetwork;

mod v1;
mod v2;

pub use v1::{AttachToHost, EndpointV1, NeedsV2, NetworkV1};
pub use v2::{AddRemoteSubnets, Endpoint, Network, RemoteSubnet};

/// Transparent networks are not among them: casement has no network mode that uses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NetworkType {
    Overlay,
    /// Pods on the segment of the host; the switch rewrites MAC addresses.
    L2Bridge,
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
    pub subnet: Deferred<IpNet>,
    pub gateway: Deferred<IpAddr>,
    /// The VSID.
    pub isolation: Option<u32>,
    /// The agent selects the adapter with the address of the host.
    pub adapter: Deferred<String>,
}

impl NetworkSpec {
    pub fn external(network_type: NetworkType) -> Self {
        let subnet = Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 255, 0), 30);
        let gateway = Ipv4Addr::new(192, 168, 255, 1);
        Self {
            name: EXTERNAL.to_owned(),
            network_type,
            subnet: Deferred::Known(subnet.into()),
            gateway: Deferred::Known(gateway.into()),
            isolation: (network_type == NetworkType::Overlay).then_some(EXTERNAL_VSID),
            adapter: Deferred::OnHost,
        }
    }

    pub fn overlay(name: &str, vni: u32, pods: Deferred<PodNetwork>) -> Self {
        Self {
            isolation: Some(vni),
            ..Self::pods(name, NetworkType::Overlay, pods)
        }
    }

    pub fn bridge(name: &str, pods: Deferred<PodNetwork>) -> Self {
        Self::pods(name, NetworkType::L2Bridge, pods)
    }

    fn pods(name: &str, network_type: NetworkType, pods: Deferred<PodNetwork>) -> Self {
        Self {
            name: name.to_owned(),
            network_type,
            subnet: pods.map(|pods| pods.net().into()),
            gateway: pods.map(|pods| pods.gateway().into()),
            isolation: None,
            adapter: Deferred::OnHost,
        }
    }
}

/// The desired state of an endpoint, independent of the API version.
///
/// No gateway: attached to the host, it would give the host a second default route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSpec {
    pub name: String,
    /// HNS assigns it when the network is created.
    pub network_id: Deferred<String>,
    pub address: Deferred<IpAddr>,
}

impl EndpointSpec {
    /// The endpoint of the host in a bridged pod network.
    pub fn of_host(network: &str, pods: Deferred<PodNetwork>) -> Self {
        Self {
            name: format!("{network}_ep"),
            network_id: Deferred::OnHost,
            address: pods.map(|pods| pods.host().into()),
        }
    }
}

#[cfg(test)]
mod tests;
