//! The conflist of a Linux node whose pods are routed by casement.

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{Capabilities, Conflist, VERSION};
use crate::Late;

/// What decides the conflist.
#[derive(Debug, Clone)]
pub struct LinuxRoutes<'a> {
    /// The CNI network's name, which is also the bridge's.
    pub network: &'a str,
    /// This node's pods.
    pub pods: Late<Ipv4Net>,
}

/// A plugin of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Bridge {
    /// A bridge of the host, whose packets leave untranslated: other nodes have
    /// routes to this one's pods.
    #[serde(rename_all = "camelCase")]
    Bridge {
        /// The bridge's name.
        bridge: String,
        /// The bridge is the pods' way out.
        is_default_gateway: bool,
        /// A pod reaches itself through a service.
        hairpin_mode: bool,
        /// Addresses.
        ipam: Ipam,
    },
    /// Host ports.
    Portmap {
        /// What the runtime hands it.
        capabilities: Capabilities,
    },
}

/// `host-local` on Linux.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ipam {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    ranges: [[Subnet; 1]; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Subnet {
    subnet: Late<Ipv4Net>,
}

impl LinuxRoutes<'_> {
    /// The document.
    pub fn conflist(&self) -> Conflist<Bridge> {
        let bridge = Bridge::Bridge {
            bridge: self.network.to_owned(),
            is_default_gateway: true,
            hairpin_mode: true,
            ipam: Ipam {
                plugin_type: "host-local",
                ranges: [[Subnet { subnet: self.pods }]],
            },
        };
        let portmap = Bridge::Portmap {
            capabilities: Capabilities {
                dns: false,
                port_mappings: true,
            },
        };
        Conflist {
            cni_version: VERSION,
            name: self.network.to_owned(),
            plugins: vec![bridge, portmap],
        }
    }
}
