//! flannel configuration: `net-conf.json`, the same on Linux and Windows, and
//! `cni-conf.json`, which its installer writes on Linux nodes.
//!
//! VNI and port are always written because the flannel defaults differ (VNI 1 and
//! port 8472 on Linux; 4096 and 4789, the only supported port, on Windows).
//! `Backend.Name` is the name of the HNS network; Linux ignores it.

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::cni::Capabilities;

pub mod objects;

/// The smallest VNI that Windows supports.
pub const WINDOWS_VNI: u32 = 4096;
/// The only UDP port that flannel supports on Windows.
pub const WINDOWS_PORT: u16 = 4789;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NetConf {
    pub network: Ipv4Net,
    pub backend: Backend,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type")]
pub enum Backend {
    #[serde(rename = "vxlan")]
    Vxlan {
        #[serde(rename = "VNI")]
        vni: u32,
        /// Must be the same on all nodes.
        #[serde(rename = "Port")]
        port: u16,
        /// `None`: `flannel.<VNI>`.
        #[serde(rename = "Name", skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// `None`: the MTU of the interface.
        #[serde(rename = "MTU", skip_serializing_if = "Option::is_none")]
        mtu: Option<u16>,
    },
    #[serde(rename = "host-gw")]
    HostGw {
        /// `None`: `cbr0`.
        #[serde(rename = "Name", skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Backend {
    /// The name is omitted if it is the flannel default.
    pub fn vxlan(vni: u32, port: u16, hns_network: &str, mtu: Option<u16>) -> Self {
        let name = (hns_network != format!("flannel.{vni}")).then(|| hns_network.to_owned());
        Self::Vxlan {
            vni,
            port,
            name,
            mtu,
        }
    }

    pub fn host_gw(hns_network: &str) -> Self {
        let name = (hns_network != "cbr0").then(|| hns_network.to_owned());
        Self::HostGw { name }
    }
}

impl NetConf {
    pub fn new(network: Ipv4Net, backend: Backend) -> Self {
        Self { network, backend }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CniConf {
    /// Independent of the HNS network name.
    pub name: String,
    /// As in the flannel manifest.
    pub cni_version: &'static str,
    pub plugins: [LinuxPlugin; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum LinuxPlugin {
    Flannel { delegate: BridgeDelegate },
    Portmap { capabilities: Capabilities },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BridgeDelegate {
    /// Lets a pod reach itself through a service.
    pub hairpin_mode: bool,
    pub is_default_gateway: bool,
}

impl CniConf {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            cni_version: "0.3.1",
            plugins: [
                LinuxPlugin::Flannel {
                    delegate: BridgeDelegate {
                        hairpin_mode: true,
                        is_default_gateway: true,
                    },
                },
                LinuxPlugin::Portmap {
                    capabilities: Capabilities {
                        dns: false,
                        port_mappings: true,
                    },
                },
            ],
        }
    }
}

#[cfg(test)]
mod tests;
