//! What flannel reads: `net-conf.json`, the same document on Linux and Windows,
//! and `cni-conf.json`, which its installer puts on Linux nodes.
//!
//! flannel's own defaults differ between the two systems (VNI 1 and port 8472 on
//! Linux, 4096 and 4789 on Windows, where nothing else is admitted), so both are
//! always written. `Backend.Name` names the HNS network; Linux ignores it.

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::cni::Capabilities;

pub mod objects;

/// The smallest VNI that Windows admits.
pub const WINDOWS_VNI: u32 = 4096;
/// The only UDP port that flannel admits on Windows.
pub const WINDOWS_PORT: u16 = 4789;

/// `net-conf.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NetConf {
    /// All pods.
    pub network: Ipv4Net,
    /// How nodes reach each other's.
    pub backend: Backend,
}

/// How nodes reach each other's pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type")]
pub enum Backend {
    /// VXLAN.
    #[serde(rename = "vxlan")]
    Vxlan {
        /// The number of the overlay.
        #[serde(rename = "VNI")]
        vni: u32,
        /// The UDP port; nothing but equal files makes nodes agree on it.
        #[serde(rename = "Port")]
        port: u16,
        /// The HNS network's name, where it is not `flannel.<VNI>`.
        #[serde(rename = "Name", skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The underlay's MTU, where Linux should not ask the interface.
        #[serde(rename = "MTU", skip_serializing_if = "Option::is_none")]
        mtu: Option<u16>,
    },
    /// Routes, on one segment.
    #[serde(rename = "host-gw")]
    HostGw {
        /// The HNS network's name, where it is not `cbr0`.
        #[serde(rename = "Name", skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Backend {
    /// VXLAN whose HNS network has this name; it is written only where flannel
    /// would choose another.
    pub fn vxlan(vni: u32, port: u16, hns_network: &str, mtu: Option<u16>) -> Self {
        let name = (hns_network != format!("flannel.{vni}")).then(|| hns_network.to_owned());
        Self::Vxlan {
            vni,
            port,
            name,
            mtu,
        }
    }

    /// Routes, with an HNS network of this name.
    pub fn host_gw(hns_network: &str) -> Self {
        let name = (hns_network != "cbr0").then(|| hns_network.to_owned());
        Self::HostGw { name }
    }
}

impl NetConf {
    /// The document for these pods.
    pub fn new(network: Ipv4Net, backend: Backend) -> Self {
        Self { network, backend }
    }
}

/// `cni-conf.json`: the conflist of Linux nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CniConf {
    /// The CNI network's name on Linux, independent of the HNS network's.
    pub name: String,
    /// The version of the specification, as flannel ships it.
    pub cni_version: &'static str,
    /// flannel's plugin, and the one for host ports.
    pub plugins: [LinuxPlugin; 2],
}

/// A plugin of the chain on Linux.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum LinuxPlugin {
    /// flannel's, which calls `bridge`.
    Flannel {
        /// What it hands on.
        delegate: BridgeDelegate,
    },
    /// Host ports.
    Portmap {
        /// What the runtime hands it.
        capabilities: Capabilities,
    },
}

/// What flannel's plugin hands to `bridge` on Linux.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BridgeDelegate {
    /// A pod reaches itself through a service.
    pub hairpin_mode: bool,
    /// The bridge is the pods' way out.
    pub is_default_gateway: bool,
}

impl CniConf {
    /// The document for a CNI network of this name.
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
