//! Routes between nodes: those that casement creates without an overlay, and the
//! route table of every node in any mode.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

mod commands;
mod table;

pub use commands::Commands;
pub use table::{Carrier, Neighbor, RouteTable, System, TableRoute};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub name: String,
    pub address: Ipv4Addr,
    pub pods: Ipv4Net,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRoute {
    pub destination: Ipv4Net,
    pub via: Ipv4Addr,
}

/// The routes of one node to the pods of all others, sorted by pod network.
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
    fn node_has_sorted_routes_to_all_others() {
        let peers = [peer("b", 2), peer("c", 3), peer("a", 1)];
        let routes = to_others("B", &peers);
        let to: Vec<String> = routes.iter().map(|r| r.destination.to_string()).collect();
        assert_eq!(to, ["10.244.1.0/24", "10.244.3.0/24"]);
        let mut reversed = peers.to_vec();
        reversed.reverse();
        assert_eq!(to_others("b", &reversed), routes);
    }
}
