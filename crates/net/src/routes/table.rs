//! The ways from one node to the pods of all others, as data.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::Late;

/// A node as others see it, before or after it has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The Node's name.
    pub name: String,
    /// Its address on the network that all nodes share.
    pub address: Ipv4Addr,
    /// Its pods.
    pub pods: Late<Ipv4Net>,
}

/// What carries packets between nodes, and so who makes the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Carrier {
    /// Routes by casement.
    Routes,
    /// Routes by flannel.
    FlannelHostGw,
    /// VXLAN by flannel.
    FlannelVxlan {
        /// The number of the overlay.
        vni: u32,
    },
    /// VXLAN by Calico.
    CalicoVxlan {
        /// The number of the overlay.
        vni: u32,
    },
}

/// The kind of a node's operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// The ways from one node to all others' pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteTable {
    /// The node.
    pub host: String,
    /// Its system.
    pub system: System,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its own pods.
    pub pods: Late<Ipv4Net>,
    /// What carries the packets.
    pub carrier: Carrier,
    /// One for each other node, in the order of the nodes' names.
    pub routes: Vec<TableRoute>,
}

/// A way to the pods of another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableRoute {
    /// The node that has them.
    pub node: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The pods.
    pub destination: Late<Ipv4Net>,
    /// Who takes the packets next. On an overlay of Linux it is the first
    /// address of the pods themselves, which the tunnel's device answers for; on
    /// one of Windows a policy of the HNS network stands in for the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Late<Ipv4Addr>>,
    /// The tunnel's device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

impl RouteTable {
    /// The table of one node, the same whatever the order of the others.
    pub fn new(own: &Neighbour, system: System, carrier: Carrier, all: &[Neighbour]) -> Self {
        let others = all
            .iter()
            .filter(|node| !node.name.eq_ignore_ascii_case(&own.name));
        let mut routes: Vec<TableRoute> = others.map(|node| way(node, system, carrier)).collect();
        routes.sort_by(|one, other| one.node.cmp(&other.node));
        Self {
            host: own.name.clone(),
            system,
            address: own.address,
            pods: own.pods,
            carrier,
            routes,
        }
    }
}

fn way(node: &Neighbour, system: System, carrier: Carrier) -> TableRoute {
    let first = node.pods.map(|pods| pods.network());
    let (via, device) = match (carrier, system) {
        (Carrier::Routes | Carrier::FlannelHostGw, _) => (Some(Late::Known(node.address)), None),
        (Carrier::FlannelVxlan { vni }, System::Linux) => {
            (Some(first), Some(format!("flannel.{vni}")))
        }
        // Calico gives each node's tunnel an address out of its own block.
        (Carrier::CalicoVxlan { .. }, System::Linux) => {
            (Some(Late::AfterJoin), Some("vxlan.calico".to_owned()))
        }
        (Carrier::FlannelVxlan { .. } | Carrier::CalicoVxlan { .. }, System::Windows) => {
            (None, None)
        }
    };
    TableRoute {
        node: node.name.clone(),
        address: node.address,
        destination: node.pods,
        via,
        device,
    }
}
