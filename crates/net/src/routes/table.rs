//! The route table of a node as data.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use crate::Deferred;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbor {
    pub name: String,
    pub address: Ipv4Addr,
    pub pods: Deferred<Ipv4Net>,
}

/// What carries packets between nodes, and thus who creates the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Carrier {
    Routes,
    FlannelHostGw,
    FlannelVxlan { vni: u32 },
    CalicoVxlan { vni: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    Linux,
    Windows,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteTable {
    pub host: String,
    pub system: System,
    pub address: Ipv4Addr,
    pub pods: Deferred<Ipv4Net>,
    pub carrier: Carrier,
    /// One for each other node, sorted by node name.
    pub routes: Vec<TableRoute>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableRoute {
    pub node: String,
    pub address: Ipv4Addr,
    pub destination: Deferred<Ipv4Net>,
    /// The next hop. With VXLAN on Linux it is the first address of the pod network,
    /// handled by the tunnel device. `None` with VXLAN on Windows: a policy of the
    /// HNS network replaces the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Deferred<Ipv4Addr>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

impl RouteTable {
    pub fn new(own: &Neighbor, system: System, carrier: Carrier, all: &[Neighbor]) -> Self {
        let others = all
            .iter()
            .filter(|node| !node.name.eq_ignore_ascii_case(&own.name));
        let mut routes: Vec<TableRoute> = others.map(|node| route(node, system, carrier)).collect();
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

fn route(node: &Neighbor, system: System, carrier: Carrier) -> TableRoute {
    let first = node.pods.map(|pods| pods.network());
    let (via, device) = match (carrier, system) {
        (Carrier::Routes | Carrier::FlannelHostGw, _) => {
            (Some(Deferred::Known(node.address)), None)
        }
        (Carrier::FlannelVxlan { vni }, System::Linux) => {
            (Some(first), Some(format!("flannel.{vni}")))
        }
        // Calico assigns the tunnel address of each node from the block of the node.
        (Carrier::CalicoVxlan { .. }, System::Linux) => {
            (Some(Deferred::AfterJoin), Some("vxlan.calico".to_owned()))
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
