//! HNS v2 (HCN) documents, schema 2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::Serialize;

use super::{EndpointSpec, NetworkSpec, NetworkType};
use crate::Deferred;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct SchemaVersion {
    major: u32,
    minor: u32,
}

/// Supported by every Windows since Server 2019.
const SCHEMA: SchemaVersion = SchemaVersion { major: 2, minor: 0 };

/// The settings of `HcnCreateNetwork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Network {
    schema_version: SchemaVersion,
    name: String,
    #[serde(rename = "Type")]
    network_type: NetworkType,
    policies: [NetworkPolicy; 1],
    ipams: [Ipam; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
enum NetworkPolicy {
    #[serde(rename_all = "PascalCase")]
    NetAdapterName {
        network_adapter_name: Deferred<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Ipam {
    #[serde(rename = "Type")]
    ipam_type: &'static str,
    subnets: [Subnet; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Subnet {
    ip_address_prefix: Deferred<IpNet>,
    policies: Vec<SubnetPolicy>,
    routes: [Route; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
enum SubnetPolicy {
    #[serde(rename = "VSID", rename_all = "PascalCase")]
    Vsid { isolation_id: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Route {
    next_hop: Deferred<IpAddr>,
    destination_prefix: IpNet,
}

impl From<&NetworkSpec> for Network {
    fn from(spec: &NetworkSpec) -> Self {
        let vsid = |isolation_id| SubnetPolicy::Vsid { isolation_id };
        Self {
            schema_version: SCHEMA,
            name: spec.name.clone(),
            network_type: spec.network_type,
            policies: [NetworkPolicy::NetAdapterName {
                network_adapter_name: spec.adapter.clone(),
            }],
            ipams: [Ipam {
                ipam_type: "Static",
                subnets: [Subnet {
                    ip_address_prefix: spec.subnet,
                    policies: spec.isolation.map(vsid).into_iter().collect(),
                    routes: [default_route(spec.gateway)],
                }],
            }],
        }
    }
}

/// In the family of the gateway; IPv4 if it is not known yet, as every assigned pod network.
fn default_route(next_hop: Deferred<IpAddr>) -> Route {
    let destination_prefix = match next_hop {
        Deferred::Known(IpAddr::V6(_)) => Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
        _ => Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
    };
    Route {
        next_hop,
        destination_prefix,
    }
}

/// The settings of `HcnCreateEndpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Endpoint {
    schema_version: SchemaVersion,
    name: String,
    host_compute_network: Deferred<String>,
    ip_configurations: [IpConfiguration; 1],
}

/// Without a prefix length: HNS takes it from the subnet of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct IpConfiguration {
    ip_address: Deferred<IpAddr>,
}

impl From<&EndpointSpec> for Endpoint {
    fn from(spec: &EndpointSpec) -> Self {
        Self {
            schema_version: SCHEMA,
            name: spec.name.clone(),
            host_compute_network: spec.network_id.clone(),
            ip_configurations: [IpConfiguration {
                ip_address: spec.address,
            }],
        }
    }
}

/// The settings of `HcnModifyNetwork` with which flanneld makes the pods of other hosts
/// reachable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AddRemoteSubnets {
    resource_type: &'static str,
    request_type: &'static str,
    settings: Policies,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Policies {
    policies: Vec<RemoteSubnetPolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
enum RemoteSubnetPolicy {
    RemoteSubnetRoute(RemoteSubnet),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteSubnet {
    #[serde(rename = "DestinationPrefix")]
    pub destination: Deferred<Ipv4Net>,
    #[serde(rename = "IsolationId")]
    pub vni: u32,
    /// The address of the node.
    #[serde(rename = "ProviderAddress")]
    pub node: Ipv4Addr,
    /// HNS creates it together with the network on the node.
    #[serde(rename = "DistributedRouterMacAddress")]
    pub router_mac: Deferred<String>,
}

impl AddRemoteSubnets {
    pub fn new(subnets: impl IntoIterator<Item = RemoteSubnet>) -> Self {
        let policies = subnets.into_iter();
        Self {
            resource_type: "Policy",
            request_type: "Add",
            settings: Policies {
                policies: policies
                    .map(RemoteSubnetPolicy::RemoteSubnetRoute)
                    .collect(),
            },
        }
    }
}
