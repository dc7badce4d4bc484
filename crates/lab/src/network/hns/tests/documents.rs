//! Golden tests of the v2 documents.

use casement_golden::Goldens;
use lab_wire::hcn::{Object, error_record};
use serde_json::{Value, json};

use super::Host;

#[test]
fn documents_match_golden_files() {
    let mut goldens = Goldens::in_folder("tests/golden/hns");
    let mut add = |name: &str, document: Value| {
        goldens.add(format!("{name}.json"), format!("{document:#}\n"));
    };
    let mut host = Host::new();
    let network = host.overlay();
    host.system.now += 1000;
    add("network", host.read(Object::Network, &network));

    let namespace = host
        .create(Object::Namespace, json!({"SchemaVersion": {}}))
        .unwrap();
    let settings = json!({
        "Name": "pod_flannel.4096", "HostComputeNamespace": namespace,
        "Policies": [{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.96.0.0/12"]}}],
        "IpConfigurations": [{"IpAddress": "10.244.3.5", "PrefixLength": 24}],
        "Dns": {"Search": ["svc.cluster.local"], "ServerList": ["10.96.0.10"]},
        "MacAddress": "0E-2A-0a-f4-03-05",
    });
    let endpoint = host.endpoint(&network, settings).unwrap();
    add("endpoint", host.read(Object::Endpoint, &endpoint));
    add("namespace", host.read(Object::Namespace, &namespace));

    let balancer = json!({
        "HostComputeEndpoints": [endpoint], "SourceVIP": "10.244.3.2",
        "FrontendVIPs": ["10.96.0.10"], "Flags": 1,
        "PortMappings": [{"Protocol": 17, "InternalPort": 53, "ExternalPort": 53}],
    });
    let balancer = host.create(Object::LoadBalancer, balancer).unwrap();
    add("load-balancer", host.read(Object::LoadBalancer, &balancer));

    let failure = host
        .create(Object::Network, super::overlay("flannel.4096"))
        .unwrap_err();
    add(
        "error",
        serde_json::from_str(&error_record(&failure)).unwrap(),
    );
    goldens.assert();
}
