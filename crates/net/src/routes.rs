//! Routes between nodes: those that casement makes where no overlay carries
//! pods, and the table of every node, whoever makes it.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

mod commands;
mod table;

pub use commands::Commands;
pub use table::{Carrier, Neighbour, RouteTable, System, TableRoute};

/// A node as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The Node's name.
    pub name: String,
    /// Its address on the network that all nodes share.
    pub address: Ipv4Addr,
    /// Its pods.
    pub pods: Ipv4Net,
}

/// A way to the pods of another node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRoute {
    /// The pods.
    pub destination: Ipv4Net,
    /// The node that has them.
    pub via: Ipv4Addr,
}

/// The routes that one node needs: to everybody's pods but its own, in the order
/// of the pod networks, whatever the order of the nodes.
pub fn to_others(own: &str, peers: &[Peer]) -> Vec<PodRoute> {
    let mut routes: Vec<PodRoute> = peers
        .iter()
        .filter(|peer| !peer.name.eq_ignore_ascii_case(own))
        .map(|peer| PodRoute {
            destination: peer.pods.trunc(),
            via: peer.address,
        })
        .collect();
    routes.sort();
    routes.dedup();
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str, last: u8) -> Peer {
        Peer {
            name: name.to_owned(),
            address: Ipv4Addr::new(198, 18, 0, last),
            pods: format!("10.244.{last}.0/24").parse().unwrap(),
        }
    }

    #[test]
    fn a_node_has_routes_to_all_others_in_a_fixed_order() {
        let peers = [peer("b", 2), peer("c", 3), peer("a", 1)];
        let routes = to_others("B", &peers);
        let to: Vec<String> = routes.iter().map(|r| r.destination.to_string()).collect();
        assert_eq!(to, ["10.244.1.0/24", "10.244.3.0/24"]);
        let mut turned = peers.to_vec();
        turned.reverse();
        assert_eq!(to_others("b", &turned), routes);
    }
}
