//! Documents of the first interface.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{NetworkType, Wanted};
use crate::Late;
use crate::pod_network::PodNetwork;

/// A network, as `POST /networks` takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FirstNetwork {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(rename = "Type")]
    pub network_type: NetworkType,
    /// The adapter it is made on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_adapter_name: Option<String>,
    /// Its addresses.
    pub subnets: Vec<FirstSubnet>,
}

/// Addresses of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FirstSubnet {
    /// The addresses.
    pub address_prefix: Late<Ipv4Net>,
    /// Who answers for the rest of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_address: Option<Late<Ipv4Addr>>,
    /// What keeps them apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Vsid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Vsid {
    #[serde(rename = "Type")]
    policy_type: &'static str,
    #[serde(rename = "VSID")]
    isolation: u32,
}

impl From<&Wanted> for FirstNetwork {
    fn from(wanted: &Wanted) -> Self {
        let isolation = wanted.isolation.map(|isolation| Vsid {
            policy_type: "VSID",
            isolation,
        });
        let subnet = wanted.subnet.map(|address_prefix| FirstSubnet {
            address_prefix,
            gateway_address: wanted.gateway,
            policies: isolation.into_iter().collect(),
        });
        Self {
            name: wanted.name.clone(),
            network_type: wanted.network_type,
            network_adapter_name: wanted.adapter.clone(),
            subnets: subnet.into_iter().collect(),
        }
    }
}

/// The host's own endpoint in a pod network; the id of the network joins it when
/// it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FirstEndpoint {
    name: String,
    #[serde(rename = "IPAddress")]
    ip_address: Late<Ipv4Addr>,
    prefix_length: Late<u8>,
}

impl FirstEndpoint {
    /// The endpoint at the second address of a bridge.
    pub fn gateway(network: &str, pods: Late<PodNetwork>) -> Self {
        Self {
            name: format!("{network}_ep"),
            ip_address: pods.map(PodNetwork::host),
            prefix_length: pods.map(|pods| pods.net().prefix_len()),
        }
    }
}
