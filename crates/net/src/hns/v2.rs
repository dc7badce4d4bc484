//! Documents of the second interface, schema 2.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{NetworkType, Wanted};
use crate::Late;

/// The flag of a network that is gone after a reboot.
const NON_PERSISTENT: u32 = 8;

/// The version of the schema that a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SchemaVersion {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// What every Windows since 1809 reads.
const SCHEMA: SchemaVersion = SchemaVersion { major: 2, minor: 0 };

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(rename = "Type")]
    pub network_type: NetworkType,
    /// What holds for all of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<NetworkPolicy>,
    /// Where its addresses come from.
    pub ipams: Vec<Ipam>,
    /// 8: gone after a reboot.
    pub flags: u32,
    /// The schema.
    pub schema_version: SchemaVersion,
}

/// What holds for a whole network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
pub enum NetworkPolicy {
    /// The adapter it is made on.
    #[serde(rename_all = "PascalCase")]
    NetAdapterName {
        /// The adapter's name.
        network_adapter_name: String,
    },
    /// The host itself reaches the pods.
    HostRoute {},
    /// Pods of another host.
    RemoteSubnetRoute(RemoteSubnetRoute),
}

/// The way to the pods of another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RemoteSubnetRoute {
    /// Its pods.
    pub destination_prefix: Late<Ipv4Net>,
    /// The number of its overlay.
    pub isolation_id: u32,
    /// Its address.
    pub provider_address: Ipv4Addr,
    /// What its overlay answers to; made together with the network.
    pub distributed_router_mac_address: Late<String>,
}

/// Where addresses come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Ipam {
    /// `Static`, or `DHCP` without subnets.
    #[serde(rename = "Type")]
    pub ipam_type: &'static str,
    /// The addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Subnet>,
}

/// Addresses of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Subnet {
    /// The addresses.
    pub ip_address_prefix: Late<Ipv4Net>,
    /// What keeps them apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<SubnetPolicy>,
    /// The way out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// What keeps the addresses of a subnet apart from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Settings")]
pub enum SubnetPolicy {
    /// The number of the overlay.
    #[serde(rename = "VSID", rename_all = "PascalCase")]
    Vsid {
        /// The number.
        isolation_id: u32,
    },
}

/// A way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    /// Who takes packets next.
    pub next_hop: Late<Ipv4Addr>,
    /// Which packets.
    pub destination_prefix: Ipv4Net,
}

impl From<&Wanted> for Network {
    fn from(wanted: &Wanted) -> Self {
        let adapter = wanted.adapter.clone();
        let policies = adapter.map(|network_adapter_name| NetworkPolicy::NetAdapterName {
            network_adapter_name,
        });
        let isolation = wanted.isolation;
        let subnet = wanted.subnet.map(|ip_address_prefix| Subnet {
            ip_address_prefix,
            policies: isolation
                .map(|isolation_id| SubnetPolicy::Vsid { isolation_id })
                .into_iter()
                .collect(),
            routes: wanted.gateway.map(everything_else).into_iter().collect(),
        });
        let ipam_type = if subnet.is_some() { "Static" } else { "DHCP" };
        Self {
            name: wanted.name.clone(),
            network_type: wanted.network_type,
            policies: policies.into_iter().collect(),
            ipams: vec![Ipam {
                ipam_type,
                subnets: subnet.into_iter().collect(),
            }],
            flags: if wanted.persistent { 0 } else { NON_PERSISTENT },
            schema_version: SCHEMA,
        }
    }
}

fn everything_else(next_hop: Late<Ipv4Addr>) -> Route {
    Route {
        next_hop,
        destination_prefix: Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0),
    }
}

/// The host's own endpoint in a pod network.
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
    ip_address: Late<Ipv4Addr>,
    prefix_length: Late<u8>,
}

impl Endpoint {
    /// The endpoint at the second address of a bridge, without a gateway of its
    /// own: with one, the host would have two ways out.
    pub fn gateway(network: &str, pods: Late<crate::pod_network::PodNetwork>) -> Self {
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

/// What a change of a network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Request {
    /// Adds policies.
    Add,
    /// Removes policies.
    Remove,
}

/// A change of a network's policies.
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
    /// Adds or removes policies.
    pub fn policies(request_type: Request, policies: Vec<NetworkPolicy>) -> Self {
        Self {
            resource_type: "Policy",
            request_type,
            settings: Policies { policies },
        }
    }
}
