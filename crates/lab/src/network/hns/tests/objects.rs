//! Networks, endpoints, namespaces and load balancers through the v2 API.

use lab_wire::hcn::{Object, Verb};
use serde_json::{Value, json};

use super::super::HnsVersion;
use super::{Host, code, l2bridge, overlay};

const ZERO: &str = "00000000-0000-0000-0000-000000000000";

#[test]
fn empty_id_matches_nothing() {
    let mut host = Host::new();
    host.overlay();
    assert_eq!(host.find(Object::Network, json!({"ID": ""})), [""; 0]);
    assert_eq!(host.find(Object::Network, json!({})).len(), 1);
}

#[test]
fn ids_are_case_insensitive_and_names_are_not() {
    let mut host = Host::new();
    let id = host.overlay();
    let found = host.find(Object::Network, json!({"ID": id.to_ascii_uppercase()}));
    assert_eq!(found, [id]);
    let named = host.find(Object::Network, json!({"Name": "Flannel.4096"}));
    assert_eq!(named, [""; 0]);
}

#[test]
fn endpoints_are_filtered_by_network() {
    let mut host = Host::new();
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let filter = json!({"VirtualNetwork": network.to_ascii_uppercase()});
    assert_eq!(host.find(Object::Endpoint, filter), [endpoint]);
    assert_eq!(
        host.find(Object::Endpoint, json!({"VirtualNetwork": ZERO})),
        [""; 0]
    );
}

#[test]
fn missing_objects_have_a_code_per_type() {
    let mut host = Host::new();
    let mut open = |object| code(host.call(Verb::Open, object, ZERO, &json!({})));
    assert_eq!(open(Object::Network), 0x803B_0001);
    assert_eq!(open(Object::Endpoint), 0x803B_0002);
    assert_eq!(open(Object::Namespace), 0x8007_0490);
    assert_eq!(open(Object::LoadBalancer), 0x8007_0490);
}

#[test]
fn network_names_are_unique() {
    let mut host = Host::new();
    host.overlay();
    let again = host.create(Object::Network, overlay("flannel.4096"));
    assert_eq!(code(again), 0x803B_0010);
}

#[test]
fn overlay_gets_the_host_address_after_a_delay() {
    let mut host = Host::new();
    let id = host.overlay();
    let kinds = |network: &Value| -> Vec<String> {
        let policies = network["Policies"].as_array().unwrap().iter();
        policies
            .map(|it| it["Type"].as_str().unwrap().to_owned())
            .collect()
    };
    let early = host.read(Object::Network, &id);
    assert_eq!(kinds(&early), ["NetAdapterName", "DrMacAddress"]);
    host.system.now += 1000;
    let late = host.read(Object::Network, &id);
    assert_eq!(
        kinds(&late),
        ["NetAdapterName", "ProviderAddress", "DrMacAddress"]
    );
    assert_eq!(
        late["Policies"][1]["Settings"]["ProviderAddress"],
        "198.18.1.2"
    );
}

#[test]
fn nat_network_has_no_type_and_a_default_subnet() {
    let mut host = Host::new();
    let id = host
        .create(Object::Network, json!({"Name": "nat", "Type": "nat"}))
        .unwrap();
    let network = host.read(Object::Network, &id);
    assert_eq!(network["Type"], Value::Null);
    let subnet = &network["Ipams"][0]["Subnets"][0];
    let prefix = subnet["IpAddressPrefix"].as_str().unwrap();
    assert!(
        prefix.starts_with("172.") && prefix.ends_with("/20"),
        "{prefix}"
    );
    let gateway = subnet["Routes"][0]["NextHop"].as_str().unwrap();
    assert!(gateway.ends_with(".1"), "{gateway}");
}

#[test]
fn network_type_is_case_insensitive() {
    let mut host = Host::new();
    let mut document = overlay("a");
    document["Type"] = json!("overlay");
    let id = host.create(Object::Network, document.clone()).unwrap();
    assert_eq!(host.read(Object::Network, &id)["Type"], "Overlay");
    document["Type"] = json!("Token Ring");
    document["Name"] = json!("b");
    assert_eq!(code(host.create(Object::Network, document)), 0x803B_000B);
}

#[test]
fn switch_adapter_is_rejected_as_uplink() {
    let mut host = Host::new();
    let mut on = |adapter: &str| {
        let mut document = overlay("a");
        document["Policies"][0]["Settings"]["NetworkAdapterName"] = json!(adapter);
        code(host.create(Object::Network, document))
    };
    assert_eq!(on("vEthernet (Ethernet)"), 0x8007_0057);
    assert_eq!(on("Ethernet 2"), 0x803B_0006);
}

#[test]
fn overlay_rejects_reserved_vsid() {
    let mut host = Host::new();
    let mut document = overlay("a");
    let settings = &mut document["Ipams"][0]["Subnets"][0]["Policies"][0]["Settings"];
    settings["IsolationId"] = json!(1);
    assert_eq!(code(host.create(Object::Network, document)), 0x803B_000D);
}

#[test]
fn invalid_json_is_rejected() {
    let mut host = Host::new();
    let invalid = lab_wire::hcn::HcnCall {
        verb: Verb::Create,
        object: Object::Network,
        id: String::new(),
        network: String::new(),
        document: "{".to_owned(),
    };
    assert_eq!(
        code(host.store.hcn(&invalid, &mut host.system)),
        0x803B_001B
    );
}

#[test]
fn document_can_set_its_id() {
    let mut host = Host::new();
    let requested = "8E1B7D5C-0000-4000-8000-00000000000A";
    let mut document = overlay("a");
    document["ID"] = json!(requested);
    let id = host.create(Object::Network, document.clone()).unwrap();
    assert_eq!(id, requested.to_ascii_lowercase());
    document["Name"] = json!("b");
    assert_eq!(code(host.create(Object::Network, document)), 0x8007_1392);
}

#[test]
fn empty_endpoint_gets_defaults() {
    let mut host = Host::new();
    let network = host.overlay();
    let id = host.endpoint(&network, json!({})).unwrap();
    let endpoint = host.read(Object::Endpoint, &id);
    assert_eq!(endpoint["Name"], "Ethernet");
    assert_eq!(
        endpoint["IpConfigurations"],
        json!([{"IpAddress": "10.244.3.2", "PrefixLength": 24}])
    );
    assert_eq!(endpoint["Routes"][0]["NextHop"], "10.244.3.1");
    assert_eq!(endpoint["HostComputeNamespace"], ZERO);
    assert!(
        endpoint["MacAddress"]
            .as_str()
            .unwrap()
            .starts_with("00-15-5D-")
    );
}

#[test]
fn empty_address_and_route_get_defaults() {
    let mut host = Host::new();
    let network = host.create(Object::Network, l2bridge("cbr0")).unwrap();
    let settings = json!({"IpConfigurations": [{}], "Routes": [{"DestinationPrefix": "::/0"}]});
    let id = host.endpoint(&network, settings).unwrap();
    let endpoint = host.read(Object::Endpoint, &id);
    assert_eq!(endpoint["IpConfigurations"][0]["IpAddress"], "10.244.4.2");
    assert_eq!(endpoint["Routes"][0]["NextHop"], "10.244.4.1");
    assert_eq!(endpoint["Policies"][0]["Type"], "L2Driver");
}

#[test]
fn local_addresses_are_in_a_subnet_and_unique() {
    let mut host = Host::new();
    let network = host.overlay();
    let mut at = |address: &str, flags: u32| {
        let settings = json!({"IpConfigurations": [{"IpAddress": address}], "Flags": flags});
        host.endpoint(&network, settings)
    };
    at("10.244.3.9", 0).unwrap();
    assert_eq!(code(at("10.244.3.9", 0)), 0x8007_1392);
    assert_eq!(code(at("10.244.3.1", 0)), 0x8007_1392, "the gateway's");
    assert_eq!(code(at("10.96.0.10", 0)), 0x803B_001E);
    at("10.244.3.9", 1).unwrap();
    at("10.96.0.10", 1).unwrap();
}

#[test]
fn published_port_is_unique() {
    let mut host = Host::new();
    let network = host.overlay();
    let port = json!({"Protocol": 17, "InternalPort": 1, "ExternalPort": 56789});
    let settings = json!({"Policies": [{"Type": "PortMapping", "Settings": port}]});
    host.endpoint(&network, settings.clone()).unwrap();
    assert_eq!(code(host.endpoint(&network, settings)), 0x803B_0013);
}

#[test]
fn deleting_a_network_deletes_endpoints_and_load_balancers() {
    let mut host = Host::new();
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let namespace = host.create(Object::Namespace, json!({})).unwrap();
    let settings = json!({"EndpointId": endpoint});
    host.modify(Object::Namespace, &namespace, "Endpoint", "Add", settings)
        .unwrap();
    balancer(&mut host, &[&endpoint], "10.96.0.1", 443).unwrap();
    host.delete(Object::Network, &network).unwrap();
    assert_eq!(host.find(Object::Endpoint, json!({})), [""; 0]);
    assert_eq!(host.find(Object::LoadBalancer, json!({})), [""; 0]);
    assert_eq!(
        host.read(Object::Namespace, &namespace)["Resources"],
        json!([])
    );
}

#[test]
fn endpoint_can_join_one_namespace_only() {
    let mut host = Host::new();
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let namespace = host
        .create(Object::Namespace, json!({"SchemaVersion": {}}))
        .unwrap();
    assert_eq!(
        host.read(Object::Namespace, &namespace)["NamespaceId"],
        Value::Null
    );
    let settings = json!({"EndpointId": endpoint.to_ascii_uppercase()});
    let mut change = |verb: &str| {
        host.modify(
            Object::Namespace,
            &namespace,
            "Endpoint",
            verb,
            settings.clone(),
        )
    };
    change("Add").unwrap();
    assert_eq!(code(change("Add")), 0x803B_002B);
    let read = host.read(Object::Namespace, &namespace);
    assert_eq!(read["NamespaceId"], 2);
    assert_eq!(
        read["Resources"],
        json!([{"Type": "Endpoint", "Data": {"Id": endpoint}}])
    );
    assert_eq!(
        host.read(Object::Endpoint, &endpoint)["HostComputeNamespace"],
        json!(namespace)
    );
    let settings = json!({"EndpointId": endpoint});
    let mut remove = || {
        host.modify(
            Object::Namespace,
            &namespace,
            "Endpoint",
            "Remove",
            settings.clone(),
        )
    };
    remove().unwrap();
    assert_eq!(code(remove()), 0x8007_0490);
}

#[test]
fn used_and_default_namespaces_cannot_be_deleted() {
    let mut host = Host::new();
    let namespace = host.create(Object::Namespace, json!({})).unwrap();
    let container = json!({"ContainerId": "c"});
    host.modify(Object::Namespace, &namespace, "Container", "Add", container)
        .unwrap();
    assert_eq!(
        code(host.delete(Object::Namespace, &namespace)),
        0x803B_0015
    );
    let default = host.find(Object::Namespace, json!({"Type": "HostDefault"}));
    assert_eq!(host.read(Object::Namespace, &default[0])["NamespaceId"], 1);
    assert_eq!(
        code(host.delete(Object::Namespace, &default[0])),
        0x803B_0015
    );
}

#[test]
fn load_balancers_have_unique_address_and_port() {
    let mut host = Host::new();
    let network = host.overlay();
    let one = host.endpoint(&network, json!({})).unwrap();
    let two = host.endpoint(&network, json!({})).unwrap();
    balancer(&mut host, &[&one], "10.96.0.1", 443).unwrap();
    assert_eq!(
        code(balancer(&mut host, &[&one], "10.96.0.1", 443)),
        0x8007_00B7
    );
    assert_eq!(
        code(balancer(&mut host, &[&one, &two], "10.96.0.1", 443)),
        0x803B_0013
    );
    balancer(&mut host, &[&one], "10.96.0.2", 443).unwrap();
    balancer(&mut host, &[&one], "10.96.0.1", 80).unwrap();
    assert_eq!(
        code(balancer(&mut host, &["x"], "10.96.0.3", 80)),
        0x803B_0002
    );
}

#[test]
fn load_balancer_has_at_most_64_backends() {
    let mut host = Host::new();
    let network = host.overlay();
    let mut add = || host.endpoint(&network, json!({})).unwrap();
    let ids: Vec<String> = (0..65).map(|_| add()).collect();
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    let failure = balancer(&mut host, &all, "10.96.0.1", 443).unwrap_err();
    assert_eq!(failure.code, 0x8007_0057);
    assert!(failure.text.contains("invalid number of destinations"));
    balancer(&mut host, &all[..64], "10.96.0.1", 443).unwrap();
}

#[test]
fn modifying_a_load_balancer_depends_on_the_version() {
    let backends_after = |version| {
        let mut host = Host::with(version);
        let network = host.overlay();
        let one = host.endpoint(&network, json!({})).unwrap();
        let two = host.endpoint(&network, json!({})).unwrap();
        let id = balancer(&mut host, &[&one], "10.96.0.1", 443).unwrap();
        let mut document = host.read(Object::LoadBalancer, &id);
        document["HostComputeEndpoints"] = json!([one, two]);
        host.call(Verb::Modify, Object::LoadBalancer, &id, &document)?;
        let backends = &host.read(Object::LoadBalancer, &id)["HostComputeEndpoints"];
        Ok(backends.as_array().unwrap().len())
    };
    assert_eq!(code(backends_after(HnsVersion::WS2022)), 0x8000_4001);
    assert_eq!(
        backends_after(HnsVersion::WS2025),
        Ok(1),
        "accepted and ignored"
    );
    assert_eq!(backends_after(HnsVersion::new(15, 5)), Ok(2));
}

#[test]
fn policies_of_later_versions_are_rejected() {
    let mut host = Host::with(HnsVersion::WS2019);
    let mut document = overlay("a");
    document["Policies"] = json!([{"Type": "VxlanPort", "Settings": {"Port": 8472}}]);
    assert_eq!(code(host.create(Object::Network, document)), 0x803B_000E);
}

fn balancer(
    host: &mut Host,
    endpoints: &[&str],
    vip: &str,
    port: u16,
) -> Result<String, lab_wire::Failure> {
    host.create(
        Object::LoadBalancer,
        json!({
            "HostComputeEndpoints": endpoints, "FrontendVIPs": [vip],
            "PortMappings": [{"Protocol": 6, "InternalPort": 8443, "ExternalPort": port}],
            "SchemaVersion": {"Major": 2, "Minor": 0},
        }),
    )
}
