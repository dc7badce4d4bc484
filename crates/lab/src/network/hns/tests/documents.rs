//! Golden tests of the v2 documents.

use std::fs;
use std::path::Path;

use lab_wire::hcn::{Object, error_record};
use serde_json::{Value, json};

use super::Host;

/// Compares with `tests/golden/hns/NAME.json`; `CASEMENT_BLESS` writes it.
fn assert_golden(name: &str, document: &Value) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hns");
    let path = dir.join(format!("{name}.json"));
    if std::env::var_os("CASEMENT_BLESS").is_some() {
        let text = serde_json::to_string_pretty(document).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
    }
    let golden: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(document, &golden, "{name}");
}

#[test]
fn documents_match_golden_files() {
    let mut host = Host::new();
    let network = host.overlay();
    host.system.now += 1000;
    assert_golden("network", &host.read(Object::Network, &network));

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
    assert_golden("endpoint", &host.read(Object::Endpoint, &endpoint));
    assert_golden("namespace", &host.read(Object::Namespace, &namespace));

    let balancer = json!({
        "HostComputeEndpoints": [endpoint], "SourceVIP": "10.244.3.2",
        "FrontendVIPs": ["10.96.0.10"], "Flags": 1,
        "PortMappings": [{"Protocol": 17, "InternalPort": 53, "ExternalPort": 53}],
    });
    let balancer = host.create(Object::LoadBalancer, balancer).unwrap();
    assert_golden("load-balancer", &host.read(Object::LoadBalancer, &balancer));

    let failure = host
        .create(Object::Network, super::overlay("flannel.4096"))
        .unwrap_err();
    assert_golden(
        "error",
        &serde_json::from_str(&error_record(&failure)).unwrap(),
    );
}
