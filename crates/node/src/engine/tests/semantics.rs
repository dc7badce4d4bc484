//! Surprising behavior of Windows, as modeled by the simulated host. Each case was seen
//! on a real host first.

use std::collections::BTreeMap;

use casement_resource::wire::Outcome;
use casement_resource::{HnsEndpointFacts, Resource, Run, ServiceState, Step};

use super::{Rig, Task, changed, document, failed, full, windows_host, with_after};
use crate::engine::documents::{ADDRESS, reboot, service};
use crate::platform::{Balancer, Features, Hns, Services};
use crate::sim::World;

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
fn run_in_a_session_dies_with_its_connection_and_the_service_resumes_it() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(document(network_steps())));
    let result = rig.sim.in_session(|| rig.execute(&order));
    assert!(result.is_none(), "the network cut the connection");
    assert_eq!(rig.sim.world().networks.len(), 2);
    let (outcome, events) = rig.execute(&order).unwrap();
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
}

#[test]
fn first_network_moves_the_address_to_another_interface_and_removal_back() {
    let address = ADDRESS.parse().unwrap();
    let mut rig = Rig::new(windows_host());
    assert_eq!(rig.converge(&document(network_steps())).0, Outcome::Done);
    let world = rig.sim.world();
    let now = world.interfaces.iter().find(|it| it.has(address)).unwrap();
    assert_ne!(now.index, windows_host().interfaces[0].index);
    let indexes: Vec<u32> = world.routes.iter().map(|it| it.interface_index).collect();
    assert_eq!(indexes, [now.index], "the route uses the new interface");
    assert!(world.forwarding.contains(&now.index));
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// A route that was created before the network is lost with the interface of the
/// adapter; the next run creates it on the new interface.
#[test]
fn route_lost_to_a_new_switch_is_created_again() {
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

/// Adds the endpoint of a pod, and a load balancer for it.
pub(super) fn add_pod(world: &mut World, network: &str) {
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
        .modify_world(|world| world.balancers.push(balancer("1", "x")));
    assert!(changed(&rig.converge(&proxy).1).is_empty());
    assert_eq!(
        rig.sim.world().balancers.len(),
        1,
        "a running kube-proxy keeps them"
    );
    rig.sim.stop_service("Kube-Proxy").unwrap();
    rig.converge(&proxy);
    assert!(rig.sim.world().balancers.is_empty());
}

#[test]
fn removal_follows_the_deletion_order_of_hns() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(network_steps()));
    rig.sim.modify_world(|world| add_pod(world, "cbr0"));
    let sim = &rig.sim;
    assert!(sim.delete_hns_network("network-cbr0").is_err(), "endpoints");
    assert!(sim.delete_hns_endpoint("endpoint-pod").is_err(), "balancer");
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// A foreign load balancer stays with its endpoint; an orphaned one of kube-proxy is
/// deleted.
#[test]
fn load_balancers_of_other_networks_stay_and_orphans_are_deleted() {
    let mut host = windows_host();
    add_pod(&mut host, "nat");
    let mut rig = Rig::new(host.clone());
    rig.converge(&document(network_steps()));
    let orphan = balancer("left", "endpoint-gone");
    rig.sim.modify_world(|world| world.balancers.push(orphan));
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
        (service.state, service.environment)
    };
    let running = (ServiceState::Running, variables);
    assert_eq!(seen(&rig, "containerd"), running);
    rig.sim
        .modify_world(|world| world.end_program("containerd"));
    assert_eq!(seen(&rig, "containerd"), running, "it restarted by itself");
    rig.sim.modify_world(|world| world.end_program("w32time"));
    assert_eq!(seen(&rig, "w32time").0, ServiceState::Stopped);
}

#[test]
fn kubelet_stops_before_its_runtime_at_shutdown() {
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
    rig.sim.modify_world(|world| {
        world.next_hostname = Some("win1".to_owned());
    });
    assert!(rig.sim.pending_reboots().unwrap().len() == 1);
    assert!(rig.execute(&order).is_none(), "the host went down");
    let ended = rig.sim.stopped_services();
    let position = |name: &str| ended.iter().position(|it| it == name).unwrap();
    assert!(position("kubelet") < position("a-runtime"), "{ended:?}");
}
