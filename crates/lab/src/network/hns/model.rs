//! The persistent state of HNS. Both API versions read and write the same objects.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::NetworkKind;
use super::mac::{Mac, MacRange};

/// Network flag: removed on reboot.
pub const NON_PERSISTENT: u32 = 8;
/// Endpoint flag: belongs to another host.
pub const REMOTE: u32 = 1;
/// The namespace id in the document of a detached endpoint.
pub const NO_NAMESPACE: &str = "00000000-0000-0000-0000-000000000000";

/// A policy in the v2 format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Policy {
    /// For example `RemoteSubnetRoute`.
    #[serde(rename = "Type")]
    pub kind: String,
    /// As sent by the caller.
    pub settings: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    pub next_hop: String,
    /// `0.0.0.0/0` for the default route.
    pub destination_prefix: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subnet {
    /// As sent by the caller.
    pub prefix: String,
    /// VSID or VLAN.
    pub policies: Vec<Policy>,
    /// The next hop of the first route is the gateway.
    pub routes: Vec<Route>,
    /// 1: the gateway's address is not reserved.
    pub flags: u32,
}

impl Subnet {
    /// `None` if the prefix is invalid.
    pub fn net(&self) -> Option<IpNet> {
        self.prefix.parse().ok()
    }

    pub fn gateway(&self) -> Option<IpAddr> {
        self.routes.first()?.next_hop.parse().ok()
    }

    /// The isolation id of the VSID policy.
    pub fn vsid(&self) -> Option<u32> {
        self.policies
            .iter()
            .find(|policy| policy.kind.eq_ignore_ascii_case("VSID"))
            .and_then(|policy| super::document::number32(&policy.settings, "IsolationId"))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Lower case, without braces.
    pub id: String,
    /// Unique.
    pub name: String,
    pub kind: NetworkKind,
    /// The type in the caller's case, which v1 documents return.
    pub spelling: String,
    /// Policies of the caller; those that HNS adds are computed on reading.
    pub policies: Vec<Policy>,
    /// MAC addresses for endpoints.
    pub mac_pools: Vec<MacRange>,
    /// As sent by the caller.
    pub dns: Value,
    /// `Static` or `DHCP`.
    pub ipam: String,
    /// The subnets of all IPAMs.
    pub subnets: Vec<Subnet>,
    /// See [`NON_PERSISTENT`].
    pub flags: u32,
    /// MAC address of the distributed router; overlay networks only.
    pub dr_mac: Option<Mac>,
    /// Creation or boot time in milliseconds since 1970.
    #[serde(rename = "made_at")]
    pub created_at: u64,
}

impl Network {
    pub fn policy(&self, kind: &str) -> Option<&Value> {
        self.policies
            .iter()
            .find(|policy| policy.kind.eq_ignore_ascii_case(kind))
            .map(|policy| &policy.settings)
    }

    pub fn subnet_of(&self, address: IpAddr) -> Option<&Subnet> {
        self.subnets
            .iter()
            .find(|subnet| subnet.net().is_some_and(|net| net.contains(&address)))
    }
}

/// An address of an endpoint. The text is returned unchanged, because kube-proxy uses it
/// as a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct IpConfig {
    pub ip_address: String,
    /// The prefix length of the subnet.
    pub prefix_length: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Lower case, without braces.
    pub id: String,
    /// Not unique.
    pub name: String,
    pub network: String,
    /// `None` while detached.
    pub namespace: Option<String>,
    /// In the v2 format.
    pub policies: Vec<Policy>,
    /// Never empty.
    pub addresses: Vec<IpConfig>,
    /// As sent by the caller.
    pub dns: Value,
    /// Default route first.
    pub routes: Vec<Route>,
    /// From the caller or the network's pool.
    pub mac: Mac,
    /// See [`REMOTE`].
    pub flags: u32,
    /// Ids of containers that share the endpoint (v1).
    pub containers: Vec<String>,
    /// Whether it was ever attached; v1 distinguishes "created" and "detached".
    pub was_attached: bool,
}

impl Endpoint {
    pub fn is_remote(&self) -> bool {
        self.flags & REMOTE != 0
    }
}

/// A network namespace; Windows also calls it a compartment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Namespace {
    /// Lower case, without braces.
    pub id: String,
    /// `Host`, `HostDefault`, `Guest` or `GuestDefault`.
    pub kind: String,
    /// 0 until the first endpoint is attached.
    pub compartment: u32,
    /// The host's own namespace, which always exists.
    pub is_default: bool,
    pub endpoints: Vec<String>,
    pub containers: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PortMapping {
    pub protocol: u32,
    pub internal_port: u16,
    pub external_port: u16,
    pub distribution_type: u32,
    pub flags: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancer {
    /// Lower case, without braces.
    pub id: String,
    /// Ids of the backends.
    pub endpoints: Vec<String>,
    /// Source address that backends see.
    pub source_vip: Option<String>,
    /// Empty for a node port.
    pub vips: Vec<String>,
    /// Never empty.
    pub ports: Vec<PortMapping>,
    /// 1: direct server return; 2: IPv6.
    pub flags: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SdnRoute {
    /// Lower case, without braces.
    pub id: String,
    pub endpoints: Vec<String>,
    /// `{DestinationPrefix, NextHop, NeedEncap}`, as sent by the caller.
    pub settings: Vec<Value>,
}

/// Survives a restart of the service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub networks: Vec<Network>,
    pub endpoints: Vec<Endpoint>,
    pub namespaces: Vec<Namespace>,
    pub load_balancers: Vec<LoadBalancer>,
    pub routes: Vec<SdnRoute>,
    /// MAC addresses excluded from accelerated networking.
    pub accelnet: Vec<Value>,
}
