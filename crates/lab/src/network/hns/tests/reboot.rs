//! State after a reboot of the host.

use lab_wire::hcn::Object;
use serde_json::json;

use super::super::{Effect, State, Store};
use super::{Host, l2bridge};

#[test]
fn reboot_keeps_persistent_networks_and_their_endpoints() {
    let mut host = Host::new();
    let overlay = host.overlay();
    let bridge = host.create(Object::Network, l2bridge("cbr0")).unwrap();
    host.endpoint(&overlay, json!({})).unwrap();
    let namespace = host.create(Object::Namespace, json!({})).unwrap();
    let kept = host
        .endpoint(&bridge, json!({"HostComputeNamespace": namespace}))
        .unwrap();
    let default = host
        .find(Object::Namespace, json!({"Type": "HostDefault"}))
        .remove(0);
    let on_host = host
        .endpoint(&bridge, json!({"HostComputeNamespace": default}))
        .unwrap();
    host.store.reboot(&mut host.system);
    assert_eq!(host.find(Object::Network, json!({})), [bridge]);
    assert_eq!(
        host.find(Object::Endpoint, json!({})),
        [kept.clone(), on_host.clone()]
    );
    let namespaces = host.find(Object::Namespace, json!({}));
    assert_eq!(namespaces, std::slice::from_ref(&default));
    let zero = "00000000-0000-0000-0000-000000000000";
    assert_eq!(
        host.read(Object::Endpoint, &kept)["HostComputeNamespace"],
        zero
    );
    assert_eq!(
        host.read(Object::Endpoint, &on_host)["HostComputeNamespace"],
        json!(default)
    );
    let effects = host.effects();
    let [
        switch,
        Effect::NetworkCreated(_),
        Effect::EndpointAttached(attachment),
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert!(matches!(
        switch,
        Effect::SwitchCreated {
            reset_connections: false,
            ..
        }
    ));
    assert_eq!(attachment.namespace, None);
}

#[test]
fn state_round_trips_through_json() {
    let mut host = Host::new();
    let network = host.overlay();
    host.endpoint(&network, json!({})).unwrap();
    let text = serde_json::to_string(host.store.state()).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    assert_eq!(&state, host.store.state());
    let restored = Store::restore(host.store.config.clone(), state);
    assert_eq!(restored.state(), host.store.state());
}
