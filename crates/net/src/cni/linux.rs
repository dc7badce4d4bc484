//! The conflist of Linux nodes in the mode `l3-routes`.

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{Capabilities, Conflist, VERSION};
use crate::Deferred;

#[derive(Debug, Clone)]
pub struct LinuxRoutes<'a> {
    /// The name of the CNI network and of the bridge.
    pub network: &'a str,
    pub pods: Deferred<Ipv4Net>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Bridge {
    /// Without NAT: the other nodes have routes to these pods.
    #[serde(rename_all = "camelCase")]
    Bridge {
        bridge: String,
        is_default_gateway: bool,
        hairpin_mode: bool,
        ipam: Ipam,
    },
    Portmap {
        capabilities: Capabilities,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ipam {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    ranges: [[Subnet; 1]; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Subnet {
    subnet: Deferred<Ipv4Net>,
}

impl LinuxRoutes<'_> {
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
