//! `route`.

use casement_resource::{Code, Diff, Failure, Prior, Resource, Route, RouteEntry, RouteFacts};

use super::{Kind, Place};
use crate::platform::Result;

impl Kind for Route {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(self, at)?))
    }

    /// Another route to the same place is somebody's: two of them would send
    /// packets now here, now there.
    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match observe(self, at)?.routes.first() {
            None => Ok(Prior::Nothing),
            Some(found) => Err(Failure::new(
                Code::Foreign,
                format!(
                    "a route to `{}` is there that casement did not make",
                    self.destination
                ),
                "delete it if nobody needs it, or take another pod network",
            )
            .values(format!("via {}", self.next_hop), shown(found))),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, earlier: Option<&Resource>) -> Result<()> {
        let facts = observe(self, at)?;
        let interface_index = facts.interface_index.ok_or_else(|| no_interface(self))?;
        let old_hop = match earlier {
            Some(Resource::Route(route)) => Some(route.next_hop),
            _ => None,
        };
        for found in &facts.routes {
            let ours = found.next_hop == Some(self.next_hop)
                || (old_hop.is_some() && found.next_hop == old_hop);
            if ours {
                at.platform.delete_route(found)?;
            }
        }
        at.platform.add_route(&RouteEntry {
            destination: self.destination,
            next_hop: Some(self.next_hop),
            interface_index,
        })
    }

    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        for found in at.platform.routes(&self.destination)? {
            if found.next_hop == Some(self.next_hop) {
                at.platform.delete_route(&found)?;
            }
        }
        Ok(())
    }
}

fn observe(route: &Route, at: &Place<'_>) -> Result<RouteFacts> {
    Ok(RouteFacts {
        interface_index: at.platform.interface(&route.interface)?,
        routes: at.platform.routes(&route.destination)?,
    })
}

fn shown(entry: &RouteEntry) -> String {
    match entry.next_hop {
        Some(hop) => format!("via {hop} on interface {}", entry.interface_index),
        None => format!("on interface {}", entry.interface_index),
    }
}

fn no_interface(route: &Route) -> Failure {
    Failure::new(
        Code::InterfaceMissing,
        format!(
            "the route to `{}` has no interface to leave by",
            route.destination
        ),
        "check the host's address in the spec against the host's interfaces",
    )
    .values(route.interface.to_string(), "no such interface")
}
