//! The documents of casement's agent.

use casement_net::Deferred;
use casement_net::hns::{
    AttachToHost, Endpoint, EndpointSpec, EndpointV1, Network, NetworkSpec, NetworkType, NetworkV1,
};
use casement_net::pod_network::PodNetwork;
use lab_wire::hcn::Object;
use serde_json::Value;

use super::Host;

fn pods() -> Deferred<PodNetwork> {
    Deferred::Known(PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap())
}

fn on_nic(spec: NetworkSpec) -> NetworkSpec {
    let adapter = Deferred::Known("Ethernet".to_owned());
    NetworkSpec { adapter, ..spec }
}

fn host_endpoint(network: &str) -> EndpointSpec {
    EndpointSpec {
        network_id: Deferred::Known(network.to_owned()),
        ..EndpointSpec::of_host("cbr0", pods())
    }
}

/// Whether a document has everything that was sent, in any order of list items.
fn contains(document: &Value, sent: &Value) -> bool {
    match (document, sent) {
        (Value::Object(document), Value::Object(sent)) => sent.iter().all(|(name, value)| {
            let found = document.get(name);
            found.is_some_and(|found| contains(found, value))
        }),
        (Value::Array(document), Value::Array(sent)) => sent
            .iter()
            .all(|item| document.iter().any(|found| contains(found, item))),
        (document, sent) => document == sent,
    }
}

#[test]
fn networks_are_read_as_they_were_sent() {
    for spec in [
        NetworkSpec::external(NetworkType::Overlay),
        NetworkSpec::external(NetworkType::L2Bridge),
        NetworkSpec::overlay("flannel.4096", 4096, pods()),
        NetworkSpec::bridge("cbr0", pods()),
    ] {
        let mut host = Host::new();
        let sent = casement_net::value(&Network::from(&on_nic(spec)));
        let id = host.create(Object::Network, sent.clone()).unwrap();
        let found = host.read(Object::Network, &id);
        assert!(
            contains(&found, &sent),
            "{found:#} lacks a part of {sent:#}"
        );
    }
}

#[test]
fn host_endpoint_is_attached_in_both_versions() {
    for first_version in [false, true] {
        let mut host = Host::new();
        let network = on_nic(NetworkSpec::bridge("cbr0", pods()));
        let id = if first_version {
            let document = casement_net::value(&NetworkV1::try_from(&network).unwrap());
            let network = host.v1("POST", "/networks/", document).unwrap();
            let id = network["ID"].as_str().unwrap();
            let document = casement_net::value(&EndpointV1::from(&host_endpoint(id)));
            let endpoint = host.v1("POST", "/endpoints/", document).unwrap();
            endpoint["ID"].as_str().unwrap().to_owned()
        } else {
            let document = casement_net::value(&Network::from(&network));
            let id = host.create(Object::Network, document).unwrap();
            let document = casement_net::value(&Endpoint::from(&host_endpoint(&id)));
            host.create(Object::Endpoint, document).unwrap()
        };
        let attach = casement_net::value(&AttachToHost::DEFAULT_COMPARTMENT);
        let path = format!("/endpoints/{id}");
        host.v1("POST", &format!("{path}/attach"), attach).unwrap();
        let attached = host.v1("GET", &path, Value::Null).unwrap();
        assert_eq!(attached["Name"], "cbr0_ep");
        assert_eq!(attached["IPAddress"], "10.244.3.2");
        assert_eq!(attached["State"], 2, "{attached:#}");
        assert_eq!(attached["Namespace"]["CompartmentId"], 1);
    }
}
