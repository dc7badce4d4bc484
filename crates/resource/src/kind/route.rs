//! `route`: a route to the pods of another host.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Change, Diff, InterfaceRef};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Route {
    /// The destination network.
    pub destination: IpNet,
    /// The next hop.
    pub next_hop: IpAddr,
    /// The outgoing interface.
    pub interface: InterfaceRef,
}

/// An observed route to the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteEntry {
    pub destination: IpNet,
    /// None for a directly connected network.
    pub next_hop: Option<IpAddr>,
    /// The interface index.
    pub interface_index: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteFacts {
    /// The index of the route's interface; none if it does not exist.
    pub interface_index: Option<u32>,
    /// All routes to exactly this destination.
    pub routes: Vec<RouteEntry>,
}

impl Route {
    #[must_use]
    pub fn diff(&self, facts: &RouteFacts) -> Diff {
        let wanted = format!("{} via {}", self.destination, self.next_hop);
        let is_wanted = |entry: &&RouteEntry| {
            entry.next_hop == Some(self.next_hop)
                && Some(entry.interface_index) == facts.interface_index
        };
        if facts.routes.iter().any(|entry| is_wanted(&entry)) {
            return Diff::unchanged(format!("{wanted} exists"));
        }
        Diff::Changes(match facts.routes.first() {
            None => vec![Change::missing("route", wanted)],
            Some(entry) => {
                let by = |hop: Option<IpAddr>| match hop {
                    Some(hop) => format!("via {hop}"),
                    None => "directly".to_owned(),
                };
                let before = format!(
                    "{} on interface {}",
                    by(entry.next_hop),
                    entry.interface_index
                );
                vec![Change::field("route", before, wanted)]
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_on_another_interface_does_not_count() {
        let route = Route {
            destination: "10.244.2.0/24".parse().unwrap(),
            next_hop: "198.18.0.12".parse().unwrap(),
            interface: InterfaceRef::Address("198.18.0.11".parse().unwrap()),
        };
        let entry = RouteEntry {
            destination: route.destination,
            next_hop: Some(route.next_hop),
            interface_index: 4,
        };
        let mut facts = RouteFacts {
            interface_index: Some(4),
            routes: vec![entry],
        };
        assert!(route.diff(&facts).in_sync());
        facts.interface_index = Some(5);
        assert!(!route.diff(&facts).in_sync());
        facts.routes.clear();
        assert!(!route.diff(&facts).in_sync());
    }
}
