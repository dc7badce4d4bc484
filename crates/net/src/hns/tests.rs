use serde_json::{Value, json};

use super::*;
use crate::value;

fn pods() -> Deferred<PodNetwork> {
    Deferred::Known(PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap())
}

/// With the adapter that the agent selects.
fn v2(spec: NetworkSpec) -> Value {
    value(&Network::from(&on_ethernet(spec)))
}

fn v1(spec: NetworkSpec) -> Value {
    value(&NetworkV1::try_from(&on_ethernet(spec)).unwrap())
}

fn on_ethernet(spec: NetworkSpec) -> NetworkSpec {
    let adapter = Deferred::Known("Ethernet".to_owned());
    NetworkSpec { adapter, ..spec }
}

#[test]
fn overlay_has_a_vsid_and_no_flags() {
    assert_eq!(
        v2(NetworkSpec::overlay("flannel.4096", 4096, pods())),
        json!({
            "SchemaVersion": {"Major": 2, "Minor": 0},
            "Name": "flannel.4096", "Type": "Overlay",
            "Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}],
            "Ipams": [{"Type": "Static", "Subnets": [{
                "IpAddressPrefix": "10.244.3.0/24",
                "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
                "Routes": [{"NextHop": "10.244.3.1", "DestinationPrefix": "0.0.0.0/0"}],
            }]}],
        })
    );
}

#[test]
fn bridge_is_the_same_network_in_both_versions() {
    assert_eq!(
        v2(NetworkSpec::bridge("cbr0", pods())),
        json!({
            "SchemaVersion": {"Major": 2, "Minor": 0},
            "Name": "cbr0", "Type": "L2Bridge",
            "Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}],
            "Ipams": [{"Type": "Static", "Subnets": [{
                "IpAddressPrefix": "10.244.3.0/24",
                "Policies": [],
                "Routes": [{"NextHop": "10.244.3.1", "DestinationPrefix": "0.0.0.0/0"}],
            }]}],
        })
    );
    assert_eq!(
        v1(NetworkSpec::bridge("cbr0", pods())),
        json!({
            "Name": "cbr0", "Type": "L2Bridge", "NetworkAdapterName": "Ethernet",
            "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
        })
    );
}

#[test]
fn external_network_has_a_vsid_only_as_overlay() {
    let overlay = v2(NetworkSpec::external(NetworkType::Overlay));
    let subnet = &overlay["Ipams"][0]["Subnets"][0];
    assert_eq!(
        *subnet,
        json!({
            "IpAddressPrefix": "192.168.255.0/30",
            "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 9999}}],
            "Routes": [{"NextHop": "192.168.255.1", "DestinationPrefix": "0.0.0.0/0"}],
        })
    );
    let bridge = v2(NetworkSpec::external(NetworkType::L2Bridge));
    assert_eq!(bridge["Type"], "L2Bridge");
    assert_eq!(bridge["Ipams"][0]["Subnets"][0]["Policies"], json!([]));
}

#[test]
fn overlay_does_not_exist_in_the_first_version() {
    let overlay = NetworkSpec::overlay("flannel.4096", 4096, pods());
    let error = NetworkV1::try_from(&overlay).unwrap_err();
    assert!(error.to_string().contains("`flannel.4096`"), "{error}");
}

#[test]
fn default_route_has_the_family_of_the_gateway() {
    let spec = NetworkSpec {
        subnet: Deferred::Known("fd00::/64".parse().unwrap()),
        gateway: Deferred::Known("fd00::1".parse().unwrap()),
        ..NetworkSpec::bridge("cbr0", pods())
    };
    assert_eq!(
        v2(spec)["Ipams"][0]["Subnets"][0]["Routes"],
        json!([{"NextHop": "fd00::1", "DestinationPrefix": "::/0"}])
    );
}

#[test]
fn values_of_the_host_have_placeholders() {
    let network = value(&Network::from(&NetworkSpec::bridge(
        "cbr0",
        Deferred::AfterJoin,
    )));
    let policy = &network["Policies"][0]["Settings"];
    assert_eq!(policy["NetworkAdapterName"], "known on the host");
    let subnet = &network["Ipams"][0]["Subnets"][0];
    assert_eq!(subnet["IpAddressPrefix"], "known after join");
    assert_eq!(subnet["Routes"][0]["NextHop"], "known after join");
}

#[test]
fn remote_subnet_route_has_the_router_mac() {
    let subnet = RemoteSubnet {
        destination: Deferred::Known("10.244.1.0/24".parse().unwrap()),
        vni: 4096,
        node: "192.168.10.11".parse().unwrap(),
        router_mac: Deferred::AfterJoin,
    };
    assert_eq!(
        value(&AddRemoteSubnets::new([subnet])),
        json!({"ResourceType": "Policy", "RequestType": "Add", "Settings": {"Policies": [{
            "Type": "RemoteSubnetRoute",
            "Settings": {
                "DestinationPrefix": "10.244.1.0/24", "IsolationId": 4096,
                "ProviderAddress": "192.168.10.11",
                "DistributedRouterMacAddress": "known after join",
            },
        }]}})
    );
}

#[test]
fn host_endpoint_has_the_second_address() {
    let spec = EndpointSpec::of_host("cbr0", pods());
    assert_eq!(
        value(&Endpoint::from(&spec)),
        json!({
            "SchemaVersion": {"Major": 2, "Minor": 0},
            "Name": "cbr0_ep",
            "HostComputeNetwork": "known on the host",
            "IpConfigurations": [{"IpAddress": "10.244.3.2"}],
        })
    );
    assert_eq!(
        value(&EndpointV1::from(&spec)),
        json!({
            "Name": "cbr0_ep",
            "VirtualNetwork": "known on the host",
            "IPAddress": "10.244.3.2",
        })
    );
}

#[test]
fn host_is_the_first_compartment() {
    assert_eq!(
        value(&AttachToHost::DEFAULT_COMPARTMENT),
        json!({"SystemType": "Host", "CompartmentId": 1})
    );
}
