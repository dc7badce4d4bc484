//! What HNS keeps: one store, of which both generations of the API are views.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::NetworkKind;
use super::mac::{Mac, MacRange};

/// Network flag: gone after a reboot.
pub const NON_PERSISTENT: u32 = 8;
/// Endpoint flag: lives on another host.
pub const REMOTE: u32 = 1;
/// What an endpoint's namespace reads as while it has none.
pub const NO_NAMESPACE: &str = "00000000-0000-0000-0000-000000000000";

/// A policy in the second generation's shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Policy {
    /// For example `RemoteSubnetRoute`.
    #[serde(rename = "Type")]
    pub kind: String,
    /// As the caller wrote them.
    pub settings: Value,
}

/// A route as documents write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    /// Gateway.
    pub next_hop: String,
    /// Where to; `0.0.0.0/0` for the default route.
    pub destination_prefix: String,
}

/// A subnet of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subnet {
    /// As the caller wrote it.
    pub prefix: String,
    /// VSID and VLAN.
    pub policies: Vec<Policy>,
    /// The first one's next hop is the gateway.
    pub routes: Vec<Route>,
    /// 1: the gateway's address may be given to an endpoint.
    pub flags: u32,
}

impl Subnet {
    /// The prefix as a network, if it parses.
    pub fn net(&self) -> Option<IpNet> {
        self.prefix.parse().ok()
    }

    /// The gateway's address.
    pub fn gateway(&self) -> Option<IpAddr> {
        self.routes.first()?.next_hop.parse().ok()
    }

    /// The number that the VSID policy carries.
    pub fn vsid(&self) -> Option<u32> {
        self.policies
            .iter()
            .find(|policy| policy.kind.eq_ignore_ascii_case("VSID"))
            .and_then(|policy| super::document::number32(&policy.settings, "IsolationId"))
    }
}

/// A network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Lower case, without braces.
    pub id: String,
    /// Unique.
    pub name: String,
    /// What it is.
    pub kind: NetworkKind,
    /// The kind in the caller's spelling, which the first generation echoes.
    pub spelling: String,
    /// What the caller asked for; what HNS adds is made up on reading.
    pub policies: Vec<Policy>,
    /// Where endpoints' MAC addresses come from.
    pub mac_pools: Vec<MacRange>,
    /// As the caller wrote it.
    pub dns: Value,
    /// `Static` or `DHCP`.
    pub ipam: String,
    /// All subnets of all IPAMs.
    pub subnets: Vec<Subnet>,
    /// See [`NON_PERSISTENT`].
    pub flags: u32,
    /// Of the distributed router; overlays only.
    pub dr_mac: Option<Mac>,
    /// When it came up, in milliseconds since 1970.
    pub made_at: u64,
}

impl Network {
    /// The settings of the first policy of a kind.
    pub fn policy(&self, kind: &str) -> Option<&Value> {
        self.policies
            .iter()
            .find(|policy| policy.kind.eq_ignore_ascii_case(kind))
            .map(|policy| &policy.settings)
    }

    /// The subnet in which an address lies.
    pub fn subnet_of(&self, address: IpAddr) -> Option<&Subnet> {
        self.subnets
            .iter()
            .find(|subnet| subnet.net().is_some_and(|net| net.contains(&address)))
    }
}

/// An address of an endpoint; the text is echoed as it was sent, because
/// kube-proxy keys by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct IpConfig {
    /// Without prefix.
    pub ip_address: String,
    /// Of the subnet.
    pub prefix_length: u8,
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Lower case, without braces.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// The network's id.
    pub network: String,
    /// The namespace's id while attached.
    pub namespace: Option<String>,
    /// In the second generation's shape.
    pub policies: Vec<Policy>,
    /// Never empty.
    pub addresses: Vec<IpConfig>,
    /// As the caller wrote it.
    pub dns: Value,
    /// Default route first.
    pub routes: Vec<Route>,
    /// From the network's pool or the caller.
    pub mac: Mac,
    /// See [`REMOTE`].
    pub flags: u32,
    /// Containers that share it (first generation).
    pub containers: Vec<String>,
    /// Whether it was attached before; the first generation tells "created"
    /// from "detached".
    pub was_attached: bool,
}

impl Endpoint {
    /// True for an endpoint of another host.
    pub fn is_remote(&self) -> bool {
        self.flags & REMOTE != 0
    }
}

/// A namespace, which Windows also calls a compartment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Namespace {
    /// Lower case, without braces.
    pub id: String,
    /// `Host`, `HostDefault`, `Guest` or `GuestDefault`.
    pub kind: String,
    /// 0 until first used.
    pub compartment: u32,
    /// The host's own; it exists always and nobody can delete it.
    pub is_default: bool,
    /// Ids of endpoints.
    pub endpoints: Vec<String>,
    /// Ids of containers.
    pub containers: Vec<String>,
}

/// A port of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[allow(missing_docs)]
pub struct PortMapping {
    pub protocol: u32,
    pub internal_port: u16,
    pub external_port: u16,
    pub distribution_type: u32,
    pub flags: u32,
}

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancer {
    /// Lower case, without braces.
    pub id: String,
    /// Backends.
    pub endpoints: Vec<String>,
    /// What backends see as the source.
    pub source_vip: Option<String>,
    /// None: a node port.
    pub vips: Vec<String>,
    /// Never empty.
    pub ports: Vec<PortMapping>,
    /// 1: direct server return; 2: IPv6.
    pub flags: u32,
}

/// Routes for endpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SdnRoute {
    /// Lower case, without braces.
    pub id: String,
    /// Whose.
    pub endpoints: Vec<String>,
    /// `{DestinationPrefix, NextHop, NeedEncap}`, as the caller wrote them.
    pub settings: Vec<Value>,
}

/// Everything that survives a restart of the service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct State {
    pub networks: Vec<Network>,
    pub endpoints: Vec<Endpoint>,
    pub namespaces: Vec<Namespace>,
    pub load_balancers: Vec<LoadBalancer>,
    pub routes: Vec<SdnRoute>,
    /// MAC addresses that accelerated networking must leave alone.
    pub accelnet: Vec<Value>,
}
