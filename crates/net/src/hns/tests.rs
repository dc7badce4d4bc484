use serde_json::{Value, json};

use super::*;

fn pods() -> Late<PodNetwork> {
    Late::Known(PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap())
}

fn second(wanted: &Wanted) -> Value {
    serde_json::to_value(Network::from(wanted)).unwrap()
}

fn first(wanted: &Wanted) -> Value {
    serde_json::to_value(FirstNetwork::from(wanted)).unwrap()
}

#[test]
fn an_overlay_is_what_flanneld_makes() {
    let wanted = Wanted::overlay("flannel.4096", 4096, pods(), Some("Ethernet"));
    assert_eq!(
        second(&wanted),
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
fn a_bridge_is_what_flanneld_makes_for_routes() {
    let wanted = Wanted::bridge("cbr0", pods(), None);
    assert_eq!(
        first(&wanted),
        json!({
            "Name": "cbr0", "Type": "L2Bridge",
            "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
        })
    );
    assert_eq!(second(&wanted).get("Policies"), None);
    assert_eq!(second(&wanted)["Flags"], 0);
}

#[test]
fn the_external_network_has_an_isolation_of_its_own_only_as_an_overlay() {
    let overlay = Wanted::external(NetworkType::Overlay, Some("Ethernet0"));
    assert_eq!(
        first(&overlay)["Subnets"],
        json!([{
            "AddressPrefix": "192.168.255.0/30",
            "GatewayAddress": "192.168.255.1",
            "Policies": [{"Type": "VSID", "VSID": 9999}],
        }])
    );
    let bridge = Wanted::external(NetworkType::L2Bridge, None);
    assert_eq!(first(&bridge)["Subnets"][0].get("Policies"), None);
    assert_eq!(second(&bridge)["Type"], "L2Bridge");
}

#[test]
fn a_transparent_network_without_addresses_asks_dhcp() {
    let mut wanted = Wanted::transparent("transparent", pods(), None);
    assert_eq!(second(&wanted)["Ipams"][0]["Type"], "Static");
    wanted.subnet = None;
    wanted.gateway = None;
    assert_eq!(second(&wanted)["Ipams"], json!([{"Type": "DHCP"}]));
}

#[test]
fn a_route_to_another_host_names_what_its_overlay_answers_to() {
    let route = RemoteSubnetRoute {
        destination_prefix: Late::Known("10.244.1.0/24".parse().unwrap()),
        isolation_id: 4096,
        provider_address: "192.168.10.11".parse().unwrap(),
        distributed_router_mac_address: Late::AfterJoin,
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
fn the_hosts_endpoint_has_the_second_address() {
    let endpoint = serde_json::to_value(Endpoint::gateway("cbr0", pods())).unwrap();
    assert_eq!(endpoint["Name"], "cbr0_ep");
    let address = &endpoint["IpConfigurations"][0];
    assert_eq!(
        *address,
        json!({"IpAddress": "10.244.3.2", "PrefixLength": 24})
    );
    let first = serde_json::to_value(FirstEndpoint::gateway("cbr0", pods())).unwrap();
    assert_eq!(
        first,
        json!({"Name": "cbr0_ep", "IPAddress": "10.244.3.2", "PrefixLength": 24})
    );
}
