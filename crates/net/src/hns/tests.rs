use serde_json::{Value, json};

use super::*;

fn pods() -> Deferred<PodNetwork> {
    Deferred::Known(PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap())
}

fn v2(spec: &NetworkSpec) -> Value {
    serde_json::to_value(Network::from(spec)).unwrap()
}

fn v1(spec: &NetworkSpec) -> Value {
    serde_json::to_value(NetworkV1::from(spec)).unwrap()
}

#[test]
fn overlay_matches_flanneld() {
    let spec = NetworkSpec::overlay("flannel.4096", 4096, pods(), Some("Ethernet"));
    assert_eq!(
        v2(&spec),
        json!({
            "Name": "flannel.4096", "Type": "Overlay", "Flags": 8,
            "SchemaVersion": {"Major": 2, "Minor": 0},
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
fn bridge_matches_flanneld_host_gw() {
    let spec = NetworkSpec::bridge("cbr0", pods(), None);
    assert_eq!(
        v1(&spec),
        json!({
            "Name": "cbr0", "Type": "L2Bridge",
            "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
        })
    );
    assert_eq!(v2(&spec).get("Policies"), None);
    assert_eq!(v2(&spec)["Flags"], 0);
}

#[test]
fn external_network_has_a_vsid_only_as_overlay() {
    let overlay = NetworkSpec::external(NetworkType::Overlay, Some("Ethernet0"));
    assert_eq!(
        v1(&overlay)["Subnets"],
        json!([{
            "AddressPrefix": "192.168.255.0/30",
            "GatewayAddress": "192.168.255.1",
            "Policies": [{"Type": "VSID", "VSID": 9999}],
        }])
    );
    let bridge = NetworkSpec::external(NetworkType::L2Bridge, None);
    assert_eq!(v1(&bridge)["Subnets"][0].get("Policies"), None);
    assert_eq!(v2(&bridge)["Type"], "L2Bridge");
}

#[test]
fn transparent_network_without_subnet_uses_dhcp() {
    let mut spec = NetworkSpec::transparent("transparent", pods(), None);
    assert_eq!(v2(&spec)["Ipams"][0]["Type"], "Static");
    spec.subnet = None;
    spec.gateway = None;
    assert_eq!(v2(&spec)["Ipams"], json!([{"Type": "DHCP"}]));
}

#[test]
fn remote_subnet_route_has_the_router_mac() {
    let route = RemoteSubnetRoute {
        destination_prefix: Deferred::Known("10.244.1.0/24".parse().unwrap()),
        isolation_id: 4096,
        provider_address: "192.168.10.11".parse().unwrap(),
        distributed_router_mac_address: Deferred::AfterJoin,
    };
    let request = Modify::policies(Request::Add, vec![NetworkPolicy::RemoteSubnetRoute(route)]);
    assert_eq!(
        serde_json::to_value(request).unwrap(),
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
    let endpoint = serde_json::to_value(Endpoint::gateway("cbr0", pods())).unwrap();
    assert_eq!(endpoint["Name"], "cbr0_ep");
    let address = &endpoint["IpConfigurations"][0];
    assert_eq!(
        *address,
        json!({"IpAddress": "10.244.3.2", "PrefixLength": 24})
    );
    let first = serde_json::to_value(EndpointV1::gateway("cbr0", pods())).unwrap();
    assert_eq!(
        first,
        json!({"Name": "cbr0_ep", "IPAddress": "10.244.3.2", "PrefixLength": 24})
    );
}
