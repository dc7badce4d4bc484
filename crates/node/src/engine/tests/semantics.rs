//! What a simulated Windows does that bites: each of these was a real host's
//! surprise first, and the engine is only as good as the host that it is tried on.

use std::collections::BTreeMap;

use casement_resource::wire::Outcome;
use casement_resource::{HnsEndpointFacts, Resource, Run, ServiceState, Step};

use super::{Rig, Task, changed, document, failed, full, windows_host, with_after};
use crate::engine::documents::{ADDRESS, reboot, service};
use crate::platform::{Balancer, Features, Hns, Services};
use crate::sim::World;

/// The steps of the wide document about the network.
fn network_steps() -> Vec<Step> {
    let names = [
        "adapter",
        "network",
        "endpoint",
        "vip",
        "route",
        "forwarding",
    ];
    let steps = full().steps().to_vec().into_iter();
    let steps = steps.filter(|step| names.contains(&step.id.as_str()));
    steps.collect()
}

#[test]
fn what_was_started_through_a_connection_dies_with_it_and_the_service_does_not() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(document(network_steps())));
    let ended = rig.sim.in_session(|| rig.carry_out(&order));
    assert!(ended.is_none(), "the network cut the connection");
    assert_eq!(rig.sim.world().networks.len(), 2);
    let (outcome, events) = rig.carry_out(&order).unwrap();
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
}

#[test]
fn the_first_network_moves_the_address_to_another_interface_and_the_last_back() {
    let address = ADDRESS.parse().unwrap();
    let mut rig = Rig::new(windows_host());
    assert_eq!(rig.converge(&document(network_steps())).0, Outcome::Done);
    let world = rig.sim.world();
    let now = world.interfaces.iter().find(|it| it.has(address)).unwrap();
    assert_ne!(now.index, windows_host().interfaces[0].index);
    let indexes: Vec<u32> = world.routes.iter().map(|it| it.interface_index).collect();
    assert_eq!(indexes, [now.index], "the route leaves by the new one");
    assert!(world.forwarding.contains(&now.index));
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// A route that was made before the network is lost with the card's own interface;
/// the next run makes it on the one that took its place.
#[test]
fn a_route_that_a_new_switch_has_swallowed_is_made_again() {
    let mut steps = network_steps();
    let last = steps.iter().position(|step| step.id.as_str() == "route");
    let route = steps.remove(last.unwrap());
    steps.insert(0, with_after(route, &[]));
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(steps.clone()));
    assert!(rig.sim.world().routes.is_empty());
    let (outcome, events) = rig.converge(&document(steps));
    assert_eq!(
        (outcome, changed(&events)),
        (Outcome::Done, vec!["route".to_owned()])
    );
}

fn balancer(id: &str, endpoint: &str) -> Balancer {
    Balancer {
        id: id.to_owned(),
        endpoints: vec![endpoint.to_owned()],
    }
}

/// What the programs of a node put into a network that casement made.
pub(super) fn live_in(world: &mut World, network: &str) {
    world.endpoints.push(HnsEndpointFacts {
        id: "endpoint-pod".to_owned(),
        name: "pod".to_owned(),
        network: network.to_owned(),
        address: Some("10.244.1.9".parse().unwrap()),
        attached: Some(false),
    });
    world.balancers.push(balancer("service", "endpoint-pod"));
}

#[test]
fn kube_proxy_clears_load_balancers_when_it_starts() {
    let mut rig = Rig::new(windows_host());
    let proxy = document(vec![service("kube-proxy", Run::Running, &[], &[])]);
    rig.converge(&proxy);
    rig.sim
        .meddle(|world| world.balancers.push(balancer("1", "x")));
    assert!(changed(&rig.converge(&proxy).1).is_empty());
    assert_eq!(
        rig.sim.world().balancers.len(),
        1,
        "one that runs leaves them"
    );
    rig.sim.stop_service("Kube-Proxy").unwrap();
    rig.converge(&proxy);
    assert!(rig.sim.world().balancers.is_empty());
}

#[test]
fn hns_lets_go_in_one_order_only_and_removal_keeps_it() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(network_steps()));
    rig.sim.meddle(|world| live_in(world, "cbr0"));
    let sim = &rig.sim;
    assert!(sim.delete_hns_network("network-cbr0").is_err(), "endpoints");
    assert!(sim.delete_hns_endpoint("endpoint-pod").is_err(), "balancer");
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// Somebody else's load balancer stays with its endpoint; one whose pods went before
/// kube-proxy could see it goes.
#[test]
fn load_balancers_of_other_networks_stay_and_those_of_nothing_go() {
    let mut host = windows_host();
    live_in(&mut host, "nat");
    let mut rig = Rig::new(host.clone());
    rig.converge(&document(network_steps()));
    let gone = balancer("left", "endpoint-gone");
    rig.sim.meddle(|world| world.balancers.push(gone));
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), host);
}

#[test]
fn each_service_has_its_own_environment_and_recovery() {
    let mut step = service("containerd", Run::Running, &[], &[]);
    let variables = BTreeMap::from([("HTTPS_PROXY".to_owned(), "http://p:1".to_owned())]);
    if let Resource::Service(service) = &mut step.resource {
        service.definition.environment = variables.clone();
    }
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(vec![step]));
    let seen = |rig: &Rig, name: &str| {
        let service = rig.sim.world().services[name].clone();
        (service.state, service.given)
    };
    let running = (ServiceState::Running, variables);
    assert_eq!(seen(&rig, "containerd"), running);
    rig.sim.meddle(|world| world.end_program("containerd"));
    assert_eq!(seen(&rig, "containerd"), running, "it came back by itself");
    rig.sim.meddle(|world| world.end_program("w32time"));
    assert_eq!(seen(&rig, "w32time").0, ServiceState::Stopped);
}

#[test]
fn a_kubelet_ends_before_the_runtime_that_it_needs_when_the_host_goes_down() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(vec![
        service("a-runtime", Run::Running, &[], &[]),
        with_after(
            service("kubelet", Run::Running, &["A-Runtime"], &[]),
            &["service a-runtime"],
        ),
        service("daemon", Run::Running, &[], &[]),
    ]));
    let order = rig.order(Task::Converge(document(vec![reboot()])));
    rig.sim.meddle(|world| {
        world.next_hostname = Some("win1".to_owned());
    });
    assert!(rig.sim.waiting_for_reboot().unwrap().len() == 1);
    assert!(rig.carry_out(&order).is_none(), "the host went down");
    let ended = rig.sim.ended();
    let place = |name: &str| ended.iter().position(|it| it == name).unwrap();
    assert!(place("kubelet") < place("a-runtime"), "{ended:?}");
}
