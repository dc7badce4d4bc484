//! What the wire is told.

use ipnet::IpNet;
use lab_wire::hcn::Object;
use serde_json::{Value, json};

use super::super::Effect;
use super::{Host, l2bridge};

fn names(effects: &[Effect]) -> Vec<&'static str> {
    let name = |effect: &Effect| match effect {
        Effect::SwitchMade { .. } => "switch made",
        Effect::SwitchGone { .. } => "switch gone",
        Effect::NetworkMade(_) => "network made",
        Effect::NetworkGone(_) => "network gone",
        Effect::NamespaceMade(_) => "namespace made",
        Effect::NamespaceGone(_) => "namespace gone",
        Effect::EndpointAttached(_) => "endpoint attached",
        Effect::EndpointDetached(_) => "endpoint detached",
        Effect::RemoteSubnetAdded(_) => "remote added",
        Effect::RemoteSubnetRemoved(_) => "remote removed",
    };
    effects.iter().map(name).collect()
}

#[test]
fn only_the_first_and_the_last_external_network_touch_the_card() {
    let mut host = Host::new();
    let one = host.overlay();
    assert_eq!(names(&host.effects()), ["switch made", "network made"]);
    let two = host.create(Object::Network, l2bridge("cbr0")).unwrap();
    let nat = host
        .create(Object::Network, json!({"Name": "nat"}))
        .unwrap();
    assert_eq!(names(&host.effects()), ["network made", "network made"]);
    for id in [&one, &two, &nat] {
        host.delete(Object::Network, id).unwrap();
    }
    let effects = host.effects();
    let expected = [
        "network gone",
        "network gone",
        "switch gone",
        "network gone",
    ];
    assert_eq!(names(&effects), expected);
}

#[test]
fn attached_endpoints_are_plugged_and_pulled() {
    let mut host = Host::new();
    let network = host.overlay();
    let namespace = host.create(Object::Namespace, json!({})).unwrap();
    host.effects();
    let wish = json!({"HostComputeNamespace": namespace, "MacAddress": "0E-2A-0a-f4-03-02"});
    host.endpoint(&network, wish).unwrap();
    let effects = host.effects();
    let [Effect::EndpointAttached(place)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(place.namespace.as_ref(), Some(&namespace));
    assert_eq!(place.addresses, ["10.244.3.2/24".parse::<IpNet>().unwrap()]);
    assert_eq!(place.routes.len(), 1);
    host.delete(Object::Network, &network).unwrap();
    let expected = ["endpoint detached", "network gone", "switch gone"];
    assert_eq!(names(&host.effects()), expected);
    host.delete(Object::Namespace, &namespace).unwrap();
    assert_eq!(names(&host.effects()), ["namespace gone"]);
}

#[test]
fn remote_endpoints_have_no_place_on_the_wire() {
    let mut host = Host::new();
    let network = host.overlay();
    host.effects();
    let wish = json!({"Flags": 1, "IpConfigurations": [{"IpAddress": "10.96.0.1"}]});
    host.endpoint(&network, wish).unwrap();
    assert_eq!(host.effects(), []);
}

fn route(mac: &str) -> Value {
    json!({"Policies": [{"Type": "RemoteSubnetRoute", "Settings": {
        "DestinationPrefix": "10.244.1.0/24", "IsolationId": 4096,
        "ProviderAddress": "198.18.1.3", "DistributedRouterMacAddress": mac,
    }}]})
}

#[test]
fn routes_to_other_hosts_come_and_go_however_the_mac_is_written() {
    let mut host = Host::new();
    let network = host.overlay();
    host.effects();
    let mut change = |verb: &str, settings: Value| {
        host.modify(Object::Network, &network, "Policy", verb, settings)
            .unwrap();
        host.effects()
    };
    let added = change("Add", route("00-12-34-56-78-9a"));
    let [Effect::RemoteSubnetAdded(subnet)] = &added[..] else {
        panic!("{added:?}");
    };
    assert_eq!(subnet.provider.to_string(), "198.18.1.3");
    let replaced = change("Add", route("00-12-34-56-78-9B"));
    assert_eq!(names(&replaced), ["remote removed", "remote added"]);
    let removed = change("Remove", route("00:12:34:56:78:9b"));
    assert_eq!(names(&removed), ["remote removed"]);
    let missing = host.modify(
        Object::Network,
        &network,
        "Policy",
        "Remove",
        route("00:12:34:56:78:9b"),
    );
    assert_eq!(super::code(missing), 0x803B_0008);
}
