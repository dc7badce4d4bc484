//! What a Linux host needs so that pods on Windows can be reached.

use casement_net::routes::{self, PodRoute};
use casement_resource::{Forwarding, InterfaceRef, NodeDocument, Resource, Route, Stage};
use casement_spec::Host;

use crate::facts::ClusterFacts;
use crate::steps::{PlanError, Steps};

/// Routes and forwarding, for a Linux host that casement may change.
pub fn network(host: &Host, facts: &ClusterFacts) -> Result<NodeDocument, PlanError> {
    let mut steps = Steps::default();
    let every = InterfaceRef::Every;
    let forwarding = Resource::Forwarding(Forwarding { interface: every });
    steps.add("forwarding", &[], forwarding)?;
    for route in to_windows(host, facts) {
        let id = format!("route-{}", route.destination.network());
        let resource = Resource::Route(Route {
            destination: route.destination.into(),
            next_hop: route.via.into(),
            interface: InterfaceRef::Address(host.address.into()),
        });
        steps.add(&id, &[], resource)?;
    }
    steps.finish(host.name.as_str(), Stage::Network)
}

/// The same for a person to type, for a host that casement only looks at.
pub fn commands(host: &Host, facts: &ClusterFacts) -> Vec<String> {
    let mut commands = vec!["sysctl -w net.ipv4.ip_forward=1".to_owned()];
    let routes = to_windows(host, facts);
    commands.extend(
        routes
            .iter()
            .map(|route| format!("ip route replace {} via {}", route.destination, route.via)),
    );
    commands
}

fn to_windows(host: &Host, facts: &ClusterFacts) -> Vec<PodRoute> {
    routes::to_others(host.name.as_str(), &facts.peers())
}
