use ipnet::Ipv4Net;
use serde_json::{Value, json};

use super::*;
use crate::Deferred;
use crate::pod_network::PodNetwork;

fn net(text: &str) -> Ipv4Net {
    text.parse().unwrap()
}

fn windows(dialect: Dialect) -> WindowsPods<'static> {
    WindowsPods {
        network: "cbr0",
        not_translated: vec![net("10.244.0.0/16"), net("10.96.0.0/16")],
        services: net("10.96.0.0/16"),
        node: "198.18.0.11".parse().unwrap(),
        dialect,
        dockershim: false,
    }
}

fn to_json<P: serde::Serialize>(conflist: &Conflist<P>) -> Value {
    serde_json::to_value(conflist).unwrap()
}

fn pods() -> Deferred<PodNetwork> {
    Deferred::Known(PodNetwork::new(net("10.244.1.0/24")).unwrap())
}

#[test]
fn pods_do_not_get_reserved_addresses() {
    let document = to_json(&windows(Dialect::Hcn).bridge(pods(), r"C:\leases"));
    let plugin = &document["plugins"][0];
    assert_eq!(document["name"], "cbr0");
    assert_eq!(plugin["type"], "win-bridge");
    assert_eq!(
        plugin["ipam"]["ranges"][0][0],
        json!({"subnet": "10.244.1.0/24", "rangeStart": "10.244.1.3", "rangeEnd": "10.244.1.254"})
    );
}

#[test]
fn policy_format_depends_on_the_dialect() {
    let policies = |dialect: Dialect| {
        let document = to_json(&windows(dialect).overlay(pods(), r"C:\leases"));
        let plugin = document["plugins"][0].clone();
        (plugin["apiVersion"].clone(), plugin["policies"].clone())
    };
    let (version, second) = policies(Dialect::Hcn);
    assert_eq!(version, 2);
    assert_eq!(
        second,
        json!([
            {"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16", "10.96.0.0/16"]}}},
            {"name": "EndpointPolicy", "value": {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/16", "NeedEncap": true}}},
            {"name": "EndpointPolicy", "value": {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "198.18.0.11"}}},
        ])
    );
    let (version, first) = policies(Dialect::Hns);
    assert_eq!(version, Value::Null);
    assert_eq!(
        first,
        json!([
            {"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.244.0.0/16", "10.96.0.0/16"]}},
            {"name": "EndpointPolicy", "value": {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/16", "NeedEncap": true}},
            {"name": "EndpointPolicy", "value": {"Type": "PA", "PA": "198.18.0.11"}},
        ])
    );
}

#[test]
fn fields_set_by_the_flannel_plugin_are_omitted() {
    for conflist in [
        windows(Dialect::Hcn).flannel_bridge(),
        windows(Dialect::Hcn).flannel_overlay(),
    ] {
        let plugin = to_json(&conflist)["plugins"][0].clone();
        assert_eq!(plugin["type"], "flannel");
        assert_eq!(plugin["capabilities"]["dns"], true);
        assert_eq!(plugin["delegate"].get("name"), None);
        assert_eq!(plugin["delegate"].get("ipam"), None);
    }
}

#[test]
fn dockershim_gets_a_supported_cni_version() {
    let mut docker = windows(Dialect::Hns);
    docker.dockershim = true;
    assert_eq!(to_json(&docker.flannel_overlay())["cniVersion"], "0.3.1");
}

#[test]
fn unknown_pod_network_has_a_placeholder() {
    let linux = LinuxRoutes {
        network: "cbr0",
        pods: Deferred::AfterJoin,
    };
    let document = to_json(&linux.conflist());
    let subnet = &document["plugins"][0]["ipam"]["ranges"][0][0]["subnet"];
    assert_eq!(subnet, "known after join");
}

#[test]
fn calico_uses_flat_policies() {
    let dns = "10.96.0.10".parse().unwrap();
    let calico = Calico::vxlan(4096, "win1", net("10.96.0.0/16"), dns, "cluster.local");
    let plugin = to_json(&windows(Dialect::Hcn).calico(calico))["plugins"][0].clone();
    assert_eq!(plugin["DNS"]["Search"][0], "svc.cluster.local");
    assert_eq!(plugin["policies"][1]["value"]["Type"], "SDNROUTE");
    assert_eq!(plugin["vxlan_vni"], 4096);
}
