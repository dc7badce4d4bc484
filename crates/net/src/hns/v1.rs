//! HNS v1 documents.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{NetworkSpec, NetworkType};
use crate::Deferred;
use crate::pod_network::PodNetwork;

/// The body of `POST /networks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NetworkV1 {
    pub name: String,
    #[serde(rename = "Type")]
    pub network_type: NetworkType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_adapter_name: Option<String>,
    pub subnets: Vec<SubnetV1>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SubnetV1 {
    pub address_prefix: Deferred<Ipv4Net>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_address: Option<Deferred<Ipv4Addr>>,
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

impl From<&NetworkSpec> for NetworkV1 {
    fn from(spec: &NetworkSpec) -> Self {
        let isolation = spec.isolation.map(|isolation| Vsid {
            policy_type: "VSID",
            isolation,
        });
        let subnet = spec.subnet.map(|address_prefix| SubnetV1 {
            address_prefix,
            gateway_address: spec.gateway,
            policies: isolation.into_iter().collect(),
        });
        Self {
            name: spec.name.clone(),
            network_type: spec.network_type,
            network_adapter_name: spec.adapter.clone(),
            subnets: subnet.into_iter().collect(),
        }
    }
}

/// The endpoint of the host in a pod network; the network ID is added on creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EndpointV1 {
    name: String,
    #[serde(rename = "IPAddress")]
    ip_address: Deferred<Ipv4Addr>,
    prefix_length: Deferred<u8>,
}

impl EndpointV1 {
    /// At the second address of the bridge.
    pub fn gateway(network: &str, pods: Deferred<PodNetwork>) -> Self {
        Self {
            name: format!("{network}_ep"),
            ip_address: pods.map(PodNetwork::host),
            prefix_length: pods.map(|pods| pods.net().prefix_len()),
        }
    }
}
