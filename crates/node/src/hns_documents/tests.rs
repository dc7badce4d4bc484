//! The documents of the agent are those that `casement render hns` shows.

use std::collections::BTreeMap;

use casement_net::hns::{AttachToHost, Endpoint, EndpointV1, Network, NetworkV1};
use casement_plan::ClusterFacts;
use casement_plan::offline::documents;
use casement_plan::render::{Kind, render};
use casement_resource::{HnsEndpoint, Resource};
use casement_spec::{
    Cluster, HostOs, Named as _, Network as SpecNetwork, NetworkMode, RuntimeKind,
    WindowsComponents,
};
use serde_json::Value;

use super::*;

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}
";

const ADAPTER: &str = "Ethernet 2";
const NETWORK_ID: &str = "8F3D0A3C-0000-4000-8000-000000000001";

fn cluster(mode: NetworkMode) -> Cluster {
    let mut cluster = casement_source::load("cluster.yaml", SPEC).cluster.unwrap();
    cluster.spec.network = SpecNetwork::of(mode);
    cluster
}

/// File name to document, as the agent sends them.
fn sent(cluster: &Cluster, first_version: bool) -> BTreeMap<String, Value> {
    let facts = ClusterFacts::assumed(cluster).unwrap();
    let inputs = casement_plan::Inputs::default();
    let plans = documents(cluster, &inputs, &facts).unwrap();
    let steps = plans.iter().flat_map(|plan| &plan.documents);
    let mut sent = BTreeMap::new();
    for step in steps.flat_map(|document| document.steps()) {
        match &step.resource {
            Resource::HnsNetwork(it) => {
                let spec = network(it, ADAPTER);
                let document = match first_version {
                    true => casement_net::value(&NetworkV1::try_from(&spec).unwrap()),
                    false => casement_net::value(&Network::from(&spec)),
                };
                sent.insert(format!("{}.json", it.name), document);
            }
            Resource::HnsEndpoint(it) => {
                let spec = endpoint(&created(it));
                let document = match first_version {
                    true => casement_net::value(&EndpointV1::from(&spec)),
                    false => casement_net::value(&Endpoint::from(&spec)),
                };
                sent.insert(format!("{}.json", it.name), document);
                let attach = casement_net::value(&AttachToHost::DEFAULT_COMPARTMENT);
                sent.insert(format!("{}-attach.json", it.name), attach);
            }
            _ => {}
        }
    }
    sent
}

fn created(endpoint: &HnsEndpoint) -> NewEndpoint {
    NewEndpoint {
        name: endpoint.name.clone(),
        network_id: NETWORK_ID.to_owned(),
        address: endpoint.address,
    }
}

/// File name to document, with the values of the host in place of their placeholders.
fn shown(cluster: &Cluster) -> BTreeMap<String, Value> {
    let facts = ClusterFacts::assumed(cluster).unwrap();
    let files = render(cluster, &[Kind::Hns], None, &facts).unwrap();
    let files = files.into_iter().map(|file| {
        let name = file.path.strip_prefix("win1/hns/").unwrap().to_owned();
        let mut document = serde_json::from_str(&file.text).unwrap();
        fill(&mut document);
        (name, document)
    });
    files.collect()
}

fn fill(document: &mut Value) {
    let fields = [
        ("NetworkAdapterName", ADAPTER),
        ("HostComputeNetwork", NETWORK_ID),
        ("VirtualNetwork", NETWORK_ID),
    ];
    match document {
        Value::Object(map) => {
            for (name, value) in map {
                match fields.iter().find(|(field, _)| field == name) {
                    Some((_, known)) if *value == Deferred::<()>::ON_HOST => {
                        *value = Value::from(*known);
                    }
                    _ => fill(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fill),
        _ => {}
    }
}

#[test]
fn render_shows_what_the_agent_sends_in_every_mode() {
    let mut names = BTreeMap::new();
    for mode in NetworkMode::ALL {
        let cluster = cluster(*mode);
        let sent = sent(&cluster, false);
        assert_eq!(shown(&cluster), sent, "{mode}");
        names.insert(mode.to_string(), sent.into_keys().collect::<Vec<_>>());
    }
    assert_eq!(
        names["calico-vxlan"], [""; 0],
        "Calico creates its networks"
    );
    assert_eq!(
        names["flannel-host-gw"],
        ["External.json"],
        "flanneld creates the bridge"
    );
    assert_eq!(
        names["flannel-overlay"],
        ["External.json", "flannel.4096.json"]
    );
    assert_eq!(
        names["l3-routes"],
        ["cbr0.json", "cbr0_ep-attach.json", "cbr0_ep.json"]
    );
}

#[test]
fn render_shows_what_the_agent_sends_to_the_first_version() {
    for mode in [NetworkMode::L3Routes, NetworkMode::FlannelHostGw] {
        let mut cluster = cluster(mode);
        cluster.spec.kubernetes.version = "1.21.5".parse().unwrap();
        cluster.spec.runtime.kind = RuntimeKind::Docker;
        cluster.spec.hosts[0].os = HostOs::Windows2016;
        let sent = sent(&cluster, true);
        assert_eq!(shown(&cluster), sent, "{mode}");
        let bridge = sent.values().find(|it| it["Type"] == "L2Bridge").unwrap();
        assert_eq!(bridge["NetworkAdapterName"], ADAPTER);
    }
}

#[test]
fn network_of_a_host_process_daemon_is_not_shown() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay);
    cluster.spec.windows.components = WindowsComponents::HostProcess;
    let sent = sent(&cluster, false);
    assert_eq!(shown(&cluster), sent);
    assert_eq!(sent.into_keys().collect::<Vec<_>>(), ["External.json"]);
}
