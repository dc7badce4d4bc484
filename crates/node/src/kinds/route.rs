//! `route`.

use casement_resource::{Code, Diff, Failure, Prior, Resource, Route, RouteEntry, RouteFacts};

use super::{Kind, KindContext};
use crate::platform::Result;

impl Kind for Route {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(self, context)?))
    }

    /// Another route to the same destination is foreign; with two, packets would
    /// take either.
    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match facts(self, context)?.routes.first() {
            None => Ok(Prior::Nothing),
            Some(found) => Err(Failure::new(
                Code::Foreign,
                format!(
                    "casement did not create the existing route to `{}`",
                    self.destination
                ),
                "delete it if it is not needed, or use another pod network",
            )
            .values(format!("via {}", self.next_hop), describe(found))),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        previous: Option<&Resource>,
    ) -> Result<()> {
        let facts = facts(self, context)?;
        let interface_index = facts.interface_index.ok_or_else(|| no_interface(self))?;
        let old_hop = match previous {
            Some(Resource::Route(route)) => Some(route.next_hop),
            _ => None,
        };
        for found in &facts.routes {
            let own = found.next_hop == Some(self.next_hop)
                || (old_hop.is_some() && found.next_hop == old_hop);
            if own {
                context.platform.delete_route(found)?;
            }
        }
        context.platform.add_route(&RouteEntry {
            destination: self.destination,
            next_hop: Some(self.next_hop),
            interface_index,
        })
    }

    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        for found in context.platform.routes(&self.destination)? {
            if found.next_hop == Some(self.next_hop) {
                context.platform.delete_route(&found)?;
            }
        }
        Ok(())
    }
}

fn facts(route: &Route, context: &KindContext<'_>) -> Result<RouteFacts> {
    Ok(RouteFacts {
        interface_index: context.platform.interface(&route.interface)?,
        routes: context.platform.routes(&route.destination)?,
    })
}

fn describe(entry: &RouteEntry) -> String {
    match entry.next_hop {
        Some(hop) => format!("via {hop} on interface {}", entry.interface_index),
        None => format!("on interface {}", entry.interface_index),
    }
}

fn no_interface(route: &Route) -> Failure {
    Failure::new(
        Code::InterfaceMissing,
        format!(
            "no interface found for the route to `{}`",
            route.destination
        ),
        "compare the address of the host in the cluster file with its interfaces",
    )
    .values(route.interface.to_string(), "no such interface")
}
