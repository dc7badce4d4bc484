//! The v1 API (`HNSCall`) over the same store.

use lab_wire::hcn::Object;
use serde_json::{Value, json};

use super::{Host, code, overlay};

fn host_gw() -> Value {
    json!({
        "Name": "cbr0", "Type": "l2bridge",
        "Subnets": [{"AddressPrefix": "10.244.4.0/24", "GatewayAddress": "10.244.4.1"}],
    })
}

#[test]
fn version_matches_the_release() {
    let mut host = Host::new();
    let version = host.v1("GET", "/globals/version", Value::Null).unwrap();
    assert_eq!(version, json!({"Major": 13, "Minor": 3}));
}

#[test]
fn flannel_host_gateway_calls_succeed() {
    let mut host = Host::new();
    let network = host.v1("POST", "/networks/", host_gw()).unwrap();
    let id = network["ID"].as_str().unwrap().to_owned();
    assert_eq!(id, id.to_ascii_uppercase());
    assert_eq!(network["Type"], "l2bridge", "in the caller's case");
    assert_eq!(network["ManagementIP"], Value::Null);
    host.system.now += 1000;
    let network = host
        .v1("GET", &format!("/networks/{id}"), Value::Null)
        .unwrap();
    assert_eq!(network["ManagementIP"], "198.18.1.2");
    let settings = json!({"Name": "cbr0_ep", "VirtualNetwork": id, "IPAddress": "10.244.4.2"});
    let endpoint = host.v1("POST", "/endpoints/", settings).unwrap();
    assert_eq!(endpoint["State"], 1);
    let path = format!("/endpoints/{}", endpoint["ID"].as_str().unwrap());
    let attach = json!({"SystemType": "Host", "CompartmentId": 1});
    host.v1("POST", &format!("{path}/attach"), attach.clone())
        .unwrap();
    let again = host
        .v1("POST", &format!("{path}/attach"), attach.clone())
        .unwrap_err();
    assert_eq!(again.code, 0x803B_0014);
    assert!(again.text.contains("already attached to the switch"));
    let attached = host.v1("GET", &path, Value::Null).unwrap();
    assert_eq!(attached["State"], 2);
    assert_eq!(attached["Namespace"]["CompartmentId"], 1);
    host.v1("POST", &format!("{path}/detach"), attach).unwrap();
    assert_eq!(host.v1("GET", &path, Value::Null).unwrap()["State"], 4);
}

#[test]
fn both_api_versions_share_objects() {
    let mut host = Host::new();
    let id = host
        .create(Object::Network, overlay("flannel.4096"))
        .unwrap();
    let list = host.v1("GET", "/networks", Value::Null).unwrap();
    assert_eq!(list[0]["ID"], json!(id.to_ascii_uppercase()));
    assert_eq!(list[0]["Subnets"][0]["GatewayAddress"], "10.244.3.1");
    assert_eq!(
        list[0]["Subnets"][0]["Policies"],
        json!([{"Type": "VSID", "VSID": 4096}])
    );
    let created = host.v1("POST", "/networks/", host_gw()).unwrap();
    let created = created["ID"].as_str().unwrap().to_owned();
    assert_eq!(host.read(Object::Network, &created)["Type"], "L2Bridge");
    host.v1("DELETE", &format!("/networks/{created}"), Value::Null)
        .unwrap();
    assert_eq!(host.find(Object::Network, json!({})), [id]);
}

#[test]
fn policy_lists_are_load_balancers() {
    let mut host = Host::new();
    assert_eq!(
        host.v1("GET", "/policylists/", Value::Null).unwrap(),
        json!([])
    );
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let policy = json!({"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 8080,
        "VIPs": ["10.96.0.1"], "ILB": true});
    let list = json!({"References": [format!("/endpoints/{}", endpoint.to_ascii_uppercase())],
        "Policies": [policy]});
    let list = host.v1("POST", "/policylists/", list).unwrap();
    assert_eq!(
        list["References"],
        json!([format!("/endpoints/{endpoint}")])
    );
    let id = list["ID"].as_str().unwrap().to_owned();
    let balancer = host.read(Object::LoadBalancer, &id);
    assert_eq!(balancer["FrontendVIPs"], json!(["10.96.0.1"]));
    assert_eq!(balancer["PortMappings"][0]["Flags"], 1);
    host.v1("DELETE", &format!("/policylists/{id}"), Value::Null)
        .unwrap();
    assert_eq!(host.find(Object::LoadBalancer, json!({})), [""; 0]);
}

#[test]
fn namespaces_add_and_remove_endpoints() {
    let mut host = Host::new();
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let namespace = host.v1("POST", "/namespaces/", json!({})).unwrap();
    assert_eq!(namespace["CompartmentId"], 0);
    let path = format!("/namespaces/{}", namespace["ID"].as_str().unwrap());
    let resource = json!({"Type": "Endpoint", "Data": {"Id": endpoint}});
    host.v1("POST", &format!("{path}/addresource"), resource.clone())
        .unwrap();
    let read = host.v1("GET", &path, Value::Null).unwrap();
    assert_eq!(read["ResourceList"], json!([resource]));
    host.v1("POST", &format!("{path}/removeresource"), resource)
        .unwrap();
    host.v1("DELETE", &path, Value::Null).unwrap();
    let error = host.v1("GET", &path, Value::Null).unwrap_err();
    assert_eq!(
        (error.code, error.text.as_str()),
        (0x8007_0490, "Element not found.")
    );
}

#[test]
fn endpoints_have_statistics() {
    let mut host = Host::new();
    let network = host.overlay();
    let endpoint = host.endpoint(&network, json!({})).unwrap();
    let path = format!("/endpointstats/{endpoint}");
    assert_eq!(host.v1("GET", &path, Value::Null).unwrap()["BytesSent"], 0);
    assert_eq!(
        code(host.v1("GET", "/endpointstats/x", Value::Null)),
        0x803B_0002
    );
}

#[test]
fn v2_calls_accept_v1_documents() {
    let mut host = Host::new();
    let id = host.create(Object::Network, host_gw()).unwrap();
    let endpoint = host
        .create(Object::Endpoint, json!({"VirtualNetwork": id}))
        .unwrap();
    assert_eq!(
        host.read(Object::Endpoint, &endpoint)["HostComputeNetwork"],
        json!(id)
    );
    let query = json!({"SchemaVersion": {"Major": 1, "Minor": 0}});
    let text = host
        .call(
            lab_wire::hcn::Verb::Query,
            Object::Endpoint,
            &endpoint,
            &query,
        )
        .unwrap();
    let endpoint: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(endpoint["VirtualNetwork"], json!(id.to_ascii_uppercase()));
}
