//! HNS v2 (HCN) documents, schema 2.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{NetworkSpec, NetworkType};
use crate::Deferred;

/// Flag of a network that a reboot removes.
const NON_PERSISTENT: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SchemaVersion {
    pub major: u32,
    pub minor: u32,
}

/// Supported by every Windows since 1809.
const SCHEMA: SchemaVersion = SchemaVersion { major: 2, minor: 0 };

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Network {
    pub name: String,
    #[serde(rename = "Type")]
    pub network_type: NetworkType,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<NetworkPolicy>,
    pub ipams: Vec<Ipam>,
    /// 8: removed by a reboot.
    pub flags: u32,
    pub schema_version: SchemaVersion,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
pub enum NetworkPolicy {
    #[serde(rename_all = "PascalCase")]
    NetAdapterName {
        network_adapter_name: String,
    },
    HostRoute {},
    RemoteSubnetRoute(RemoteSubnetRoute),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RemoteSubnetRoute {
    pub destination_prefix: Deferred<Ipv4Net>,
    pub isolation_id: u32,
    pub provider_address: Ipv4Addr,
    /// Created together with the remote network.
    pub distributed_router_mac_address: Deferred<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Ipam {
    /// `Static`, or `DHCP` without subnets.
    #[serde(rename = "Type")]
    pub ipam_type: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Subnet>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Subnet {
    pub ip_address_prefix: Deferred<Ipv4Net>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<SubnetPolicy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
pub enum SubnetPolicy {
    #[serde(rename = "VSID", rename_all = "PascalCase")]
    Vsid { isolation_id: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    pub next_hop: Deferred<Ipv4Addr>,
    pub destination_prefix: Ipv4Net,
}

impl From<&NetworkSpec> for Network {
    fn from(spec: &NetworkSpec) -> Self {
        let adapter = spec.adapter.clone();
        let policies = adapter.map(|network_adapter_name| NetworkPolicy::NetAdapterName {
            network_adapter_name,
        });
        let isolation = spec.isolation;
        let subnet = spec.subnet.map(|ip_address_prefix| Subnet {
            ip_address_prefix,
            policies: isolation
                .map(|isolation_id| SubnetPolicy::Vsid { isolation_id })
                .into_iter()
                .collect(),
            routes: spec.gateway.map(default_route).into_iter().collect(),
        });
        let ipam_type = if subnet.is_some() { "Static" } else { "DHCP" };
        Self {
            name: spec.name.clone(),
            network_type: spec.network_type,
            policies: policies.into_iter().collect(),
            ipams: vec![Ipam {
                ipam_type,
                subnets: subnet.into_iter().collect(),
            }],
            flags: if spec.persistent { 0 } else { NON_PERSISTENT },
            schema_version: SCHEMA,
        }
    }
}

fn default_route(next_hop: Deferred<Ipv4Addr>) -> Route {
    Route {
        next_hop,
        destination_prefix: Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Endpoint {
    name: String,
    ip_configurations: [IpConfiguration; 1],
    schema_version: SchemaVersion,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct IpConfiguration {
    ip_address: Deferred<Ipv4Addr>,
    prefix_length: Deferred<u8>,
}

impl Endpoint {
    /// At the second address of the bridge. No gateway: the host would get a second
    /// default route.
    pub fn gateway(network: &str, pods: Deferred<crate::pod_network::PodNetwork>) -> Self {
        Self {
            name: format!("{network}_ep"),
            ip_configurations: [IpConfiguration {
                ip_address: pods.map(|pods| pods.host()),
                prefix_length: pods.map(|pods| pods.net().prefix_len()),
            }],
            schema_version: SCHEMA,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Request {
    Add,
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Modify {
    resource_type: &'static str,
    request_type: Request,
    settings: Policies,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Policies {
    policies: Vec<NetworkPolicy>,
}

impl Modify {
    pub fn policies(request_type: Request, policies: Vec<NetworkPolicy>) -> Self {
        Self {
            resource_type: "Policy",
            request_type,
            settings: Policies { policies },
        }
    }
}
