//! `route`: where packets for other hosts' pods go.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Change, Diff, InterfaceRef};

/// A route that should be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Route {
    /// Where the packets go in the end.
    pub destination: IpNet,
    /// Who takes them next.
    pub next_hop: IpAddr,
    /// The interface they leave by.
    pub interface: InterfaceRef,
}

/// One route to the destination, as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteEntry {
    /// The destination.
    pub destination: IpNet,
    /// Who takes the packets next; none for a directly connected network.
    pub next_hop: Option<IpAddr>,
    /// The number of the interface.
    pub interface_index: u32,
}

/// What is known about a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteFacts {
    /// The number of the interface that the wanted route names; none if no
    /// interface is it.
    pub interface_index: Option<u32>,
    /// All routes to exactly the wanted destination.
    pub routes: Vec<RouteEntry>,
}

impl Route {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &RouteFacts) -> Diff {
        let wanted = format!("{} via {}", self.destination, self.next_hop);
        let is_wanted = |entry: &&RouteEntry| {
            entry.next_hop == Some(self.next_hop)
                && Some(entry.interface_index) == facts.interface_index
        };
        if facts.routes.iter().any(|entry| is_wanted(&entry)) {
            return Diff::right(format!("{wanted} is there"));
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
    fn a_route_on_another_interface_is_not_it() {
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
        assert!(route.diff(&facts).is_right());
        facts.interface_index = Some(5);
        assert!(!route.diff(&facts).is_right());
        facts.routes.clear();
        assert!(!route.diff(&facts).is_right());
    }
}
