//! Behavior of the kube-proxy model for configuration files, networks and Services.

use casement_resource::HnsNetworkFacts;
use serde_json::json;

use super::*;
use crate::fixture::service;
use crate::{bare_windows, placeholder_program};

const PROGRAM: &str = r"C:\k\kube-proxy.exe";
const FILE: &str = r"C:\k\kube-proxy.json";

fn host(file: &Value) -> World {
    let mut world = bare_windows("win1", [127, 18, 0, 11].into());
    let program = [PROGRAM, r"--config=C:\k\kube-proxy.json"];
    world.services.extend([service(KUBE_PROXY, &program)]);
    let program = placeholder_program(KUBE_PROXY, "v1.36.3");
    for (path, text) in [(PROGRAM, program), (FILE, file.to_string())] {
        disk::write_to(&mut world, &path.parse().unwrap(), &text);
    }
    world
}

fn network(name: &str, kind: &str) -> HnsNetworkFacts {
    HnsNetworkFacts {
        id: name.to_owned(),
        name: name.to_owned(),
        network_type: kind.to_owned(),
        subnets: Vec::new(),
        management_address: None,
    }
}

fn overlay_file() -> Value {
    json!({
        "hostnameOverride": "Win1", "bindAddress": "127.18.0.11",
        "winkernel": {"networkName": "flannel.4096", "sourceVip": "10.244.3.2"},
    })
}

async fn log_after(world: World) -> String {
    let sim = Sim::new(world);
    let mut proxy = KubeProxy::default();
    proxy.tick(&sim, &sim.world(), Pace::default()).await;
    disk::text(&sim.world(), r"C:\var\log\kube-proxy\kube-proxy.log").unwrap_or_default()
}

#[tokio::test]
async fn missing_hns_network_is_logged() {
    let mut world = host(&json!({"winkernel": {"networkName": "vxlan0"}}));
    world.networks = vec![network("flannel.4096", "Overlay")];
    let log = log_after(world).await;
    assert!(
        log.contains("Unable to find HNS Network specified"),
        "{log}"
    );
    assert!(log.contains(r#"hnsNetworkName="vxlan0""#), "{log}");
}

#[tokio::test]
async fn network_name_falls_back_to_the_environment() {
    let log = log_after(host(&json!({}))).await;
    assert!(
        log.contains("KUBE_NETWORK and network-flag not initialized"),
        "{log}"
    );
    let mut world = host(&json!({}));
    let proxy = world.services.get_mut(KUBE_PROXY).unwrap();
    let variables = &mut proxy.definition.as_mut().unwrap().environment;
    variables.insert("KUBE_NETWORK".to_owned(), "other".to_owned());
    let log = log_after(world).await;
    assert!(log.contains(r#"hnsNetworkName="other""#), "{log}");
}

#[tokio::test]
async fn overlay_needs_source_vip_and_host_address() {
    let mut file = overlay_file();
    let mut world = host(&file);
    world.networks = vec![network("flannel.4096", "Overlay")];
    world.interfaces.clear();
    let log = log_after(world).await;
    assert!(
        log.contains("could not find host mac address for 127.18.0.11"),
        "{log}"
    );
    file["winkernel"]["sourceVip"] = Value::Null;
    let mut world = host(&file);
    world.networks = vec![network("flannel.4096", "Overlay")];
    let log = log_after(world).await;
    assert!(log.contains("source-vip flag not set"), "{log}");
}

fn services_and_slices() -> (Value, Value) {
    let service = json!({
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {
            "clusterIP": "10.96.0.50",
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}],
        },
    });
    let without_pods = json!({
        "metadata": {"namespace": "default", "name": "nobody"},
        "spec": {"clusterIP": "10.96.0.51", "ports": [{"port": 80}]},
    });
    let endpoint = |address: &str, node: &str, ready: bool| json!({"addresses": [address], "nodeName": node, "conditions": {"ready": ready}});
    let slice = json!({
        "metadata": {
            "namespace": "default", "name": "web-1",
            "labels": {"kubernetes.io/service-name": "web"},
        },
        "endpoints": [
            endpoint("10.244.3.3", "win1", true),
            endpoint("10.244.1.3", "lin1", true),
            endpoint("10.244.1.4", "lin1", false),
        ],
    });
    (
        json!({"items": [service, without_pods]}),
        json!({"items": [slice]}),
    )
}

#[test]
fn service_has_load_balancers_over_its_ready_pods() {
    let mut world = host(&overlay_file());
    world.networks = vec![network("flannel.4096", "Overlay")];
    let program = running(&world, KUBE_PROXY).unwrap();
    let settings = Settings::read(&world, &program).unwrap();
    let (services, slices) = services_and_slices();
    let table = BalancerTable::new(&services, &slices, &settings.node);
    table.apply_to(&mut world, &settings, true);
    let balancers = |world: &World| -> Vec<String> {
        let all = world.balancers.iter();
        all.map(|it| format!("{} {}", it.id, it.endpoints.join(" ")))
            .collect()
    };
    // The pod of this host is skipped: it has no endpoint yet.
    assert_eq!(
        balancers(&world),
        [
            "kube-proxy-10.96.0.50-80-TCP kube-proxy-10.244.1.3",
            "kube-proxy-node-30080-TCP kube-proxy-10.244.1.3",
        ]
    );
    let addresses: Vec<String> = world
        .endpoints
        .iter()
        .filter_map(|it| it.address.map(|it| it.to_string()))
        .collect();
    assert_eq!(addresses, ["10.244.1.3", "10.244.3.2", "10.96.0.50"]);
    world.endpoints.push(HnsEndpointFacts {
        id: "pod".to_owned(),
        name: "pod".to_owned(),
        network: "flannel.4096".to_owned(),
        address: Some([10, 244, 3, 3].into()),
        attached: Some(false),
    });
    table.apply_to(&mut world, &settings, true);
    assert!(
        balancers(&world)[0].contains(" pod "),
        "{:?}",
        balancers(&world)
    );
    BalancerTable::default().apply_to(&mut world, &settings, true);
    assert!(world.balancers.is_empty());
    assert_eq!(
        world.endpoints.len(),
        2,
        "endpoints of the pod and of the source VIP"
    );
}

#[test]
fn stopped_service_creates_nothing() {
    let mut world = host(&overlay_file());
    world.networks = vec![network("flannel.4096", "Overlay")];
    let settings = Settings::read(&world, &running(&world, KUBE_PROXY).unwrap()).unwrap();
    let (services, slices) = services_and_slices();
    let table = BalancerTable::new(&services, &slices, &settings.node);
    world.services.remove(KUBE_PROXY);
    table.apply_to(&mut world, &settings, true);
    assert!(world.balancers.is_empty() && world.endpoints.is_empty());
}
