//! The effects of calls.

use ipnet::IpNet;
use lab_wire::hcn::Object;
use serde_json::{Value, json};

use super::super::Effect;
use super::{Host, l2bridge};

fn names(effects: &[Effect]) -> Vec<&'static str> {
    let name = |effect: &Effect| match effect {
        Effect::SwitchCreated { .. } => "switch created",
        Effect::SwitchRemoved { .. } => "switch removed",
        Effect::NetworkCreated(_) => "network created",
        Effect::NetworkRemoved(_) => "network removed",
        Effect::NamespaceCreated(_) => "namespace created",
        Effect::NamespaceRemoved(_) => "namespace removed",
        Effect::EndpointAttached(_) => "endpoint attached",
        Effect::EndpointDetached(_) => "endpoint detached",
        Effect::RemoteSubnetAdded(_) => "remote added",
        Effect::RemoteSubnetRemoved(_) => "remote removed",
    };
    effects.iter().map(name).collect()
}

#[test]
fn first_and_last_external_network_change_the_switch() {
    let mut host = Host::new();
    let one = host.overlay();
    assert_eq!(
        names(&host.effects()),
        ["switch created", "network created"]
    );
    let two = host.create(Object::Network, l2bridge("cbr0")).unwrap();
    let nat = host
        .create(Object::Network, json!({"Name": "nat"}))
        .unwrap();
    assert_eq!(
        names(&host.effects()),
        ["network created", "network created"]
    );
    for id in [&one, &two, &nat] {
        host.delete(Object::Network, id).unwrap();
    }
    let effects = host.effects();
    let expected = [
        "network removed",
        "network removed",
        "switch removed",
        "network removed",
    ];
    assert_eq!(names(&effects), expected);
}

#[test]
fn attached_endpoints_have_effects() {
    let mut host = Host::new();
    let network = host.overlay();
    let namespace = host.create(Object::Namespace, json!({})).unwrap();
    host.effects();
    let settings = json!({"HostComputeNamespace": namespace, "MacAddress": "0E-2A-0a-f4-03-02"});
    host.endpoint(&network, settings).unwrap();
    let effects = host.effects();
    let [Effect::EndpointAttached(attachment)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(attachment.namespace.as_ref(), Some(&namespace));
    assert_eq!(
        attachment.addresses,
        ["10.244.3.2/24".parse::<IpNet>().unwrap()]
    );
    assert_eq!(attachment.routes.len(), 1);
    host.delete(Object::Network, &network).unwrap();
    let expected = ["endpoint detached", "network removed", "switch removed"];
    assert_eq!(names(&host.effects()), expected);
    host.delete(Object::Namespace, &namespace).unwrap();
    assert_eq!(names(&host.effects()), ["namespace removed"]);
}

#[test]
fn remote_endpoints_have_no_effects() {
    let mut host = Host::new();
    let network = host.overlay();
    host.effects();
    let settings = json!({"Flags": 1, "IpConfigurations": [{"IpAddress": "10.96.0.1"}]});
    host.endpoint(&network, settings).unwrap();
    assert_eq!(host.effects(), []);
}

fn route(mac: &str) -> Value {
    json!({"Policies": [{"Type": "RemoteSubnetRoute", "Settings": {
        "DestinationPrefix": "10.244.1.0/24", "IsolationId": 4096,
        "ProviderAddress": "198.18.1.3", "DistributedRouterMacAddress": mac,
    }}]})
}

#[test]
fn remote_routes_compare_macs_by_value() {
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
