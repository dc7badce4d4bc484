//! The documents of a Windows host and a Linux host, as files to be read.
//!
//! `BLESS=1` writes them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::net::Ipv4Addr;

use casement_golden::Goldens;
use casement_plan::{
    ClusterFacts, Inputs, NodeFacts, PROXY_PASSWORD, PlanError, REGISTRY_PASSWORD, linux, windows,
};
use casement_resource::{Blob, NodeDocument, Resource, Secret, Sha256, Stage, Step};
use casement_spec::{Account, Cluster, Host, Named, Program, SecretRef};

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: win1, address: 198.18.0.11, os: windows-2022, roles: [worker]}
    - {name: win2, address: 198.18.0.12, os: windows-2022, roles: [worker]}
    - {name: lin1, address: 198.18.0.201, os: linux, roles: [worker], managed: true}
  access:
    ssh: {user: Administrator, key: ./id_ed25519, knownHosts: ./known_hosts}
  images: {registry: '198.18.0.10:5000', ca: ./registry-ca.crt}
";

fn cluster() -> Cluster {
    let loaded = casement_source::load("cluster.yaml", SPEC);
    loaded
        .cluster
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn host<'a>(cluster: &'a Cluster, name: &str) -> &'a Host {
    let mut hosts = cluster.spec.hosts.iter();
    hosts.find(|host| host.name.as_str() == name).unwrap()
}

fn inputs() -> Inputs {
    let blob = |program: &Program| Blob {
        sha256: Sha256::of(program.name().as_bytes()),
        size: 1000,
    };
    let programs = Program::ALL.iter().map(|program| (*program, blob(program)));
    Inputs {
        programs: programs.collect(),
        registry_ca: Some("-----BEGIN CERTIFICATE-----\n".to_owned()),
        ..Inputs::default()
    }
}

fn facts() -> ClusterFacts {
    let node = |name: &str, last: u8, pods: Option<&str>| NodeFacts {
        name: name.to_owned(),
        address: Some(Ipv4Addr::new(198, 18, 0, last)),
        pods: pods.map(|pods| pods.parse().unwrap()),
    };
    ClusterFacts {
        api_server: "198.18.0.10:6443".to_owned(),
        ca_hashes: vec!["sha256:00".to_owned()],
        ca: "-----BEGIN CERTIFICATE-----\n".to_owned(),
        nodes: vec![
            node("lin1", 201, Some("10.244.0.0/24")),
            node("win2", 12, Some("10.244.2.0/24")),
            node("win1", 11, Some("10.244.1.0/24")),
            node("late", 13, None),
        ],
    }
}

#[test]
fn documents_match_golden_files() {
    let cluster = cluster();
    let (win1, lin1) = (host(&cluster, "win1"), host(&cluster, "lin1"));
    let mut goldens = Goldens::in_folder("tests/golden/documents");
    let mut add = |name: &str, document: &NodeDocument| {
        let text = serde_json::to_string_pretty(document).unwrap();
        goldens.add(format!("{name}.json"), format!("{text}\n"));
    };
    let prepare = windows::prepare(&cluster, win1, &inputs()).unwrap();
    add("windows-prepare", &prepare);
    let join = windows::join(&cluster, win1, &facts()).unwrap();
    add("windows-join", &join);
    let network = windows::network(&cluster, win1, &facts()).unwrap();
    add("windows-network", &network);
    let network = linux::network(&cluster, lin1, &facts()).unwrap();
    add("linux-network", &network);
    add("linux-prepare", &linux_host_of_a_new_cluster());
    add("windows-accounts", &steps_with_accounts());
    goldens.assert();
}

#[test]
fn commands_for_an_unmanaged_linux_host_have_a_route_per_joined_node() {
    let cluster = cluster();
    let lin1 = host(&cluster, "lin1");
    assert_eq!(
        linux::commands(&cluster, lin1, &facts()),
        [
            "sysctl -w net.ipv4.ip_forward=1",
            "# late (198.18.0.13): known after join",
            "ip route replace 10.244.1.0/24 via 198.18.0.11",
            "ip route replace 10.244.2.0/24 via 198.18.0.12",
        ]
    );
}

/// Prepared now and for the next boot.
fn linux_host_of_a_new_cluster() -> NodeDocument {
    let mut cluster = cluster();
    cluster.spec.existing = None;
    linux::prepare(&cluster, host(&cluster, "lin1"), &inputs()).unwrap()
}

/// Accounts at the registry and at the proxy: the steps that have to do with them.
fn steps_with_accounts() -> NodeDocument {
    let cluster = cluster_with_accounts();
    let win1 = host(&cluster, "win1");
    let prepare = windows::prepare(&cluster, win1, &inputs_with_passwords(&cluster)).unwrap();
    let concerned = ["dir-containerd", "dir-base", "service-containerd"];
    let concerned = |step: &&Step| {
        let secret = matches!(step.resource, Resource::SecretFile(_));
        secret || concerned.contains(&step.id.as_str())
    };
    let steps = prepare.steps().iter().filter(concerned).cloned();
    let steps = steps.map(|mut step| {
        step.after.clear();
        step
    });
    let host = win1.name.to_string();
    NodeDocument::new(host, Stage::Prepare, steps.collect()).unwrap()
}

const PASSWORD: &str = "Tr0ub4dor";

fn cluster_with_accounts() -> Cluster {
    let mut cluster = cluster();
    let account = Some(Account {
        user: "puller".to_owned(),
        password: SecretRef::Prompt,
    });
    cluster.spec.images.credentials = account.clone();
    cluster.spec.proxy.credentials = account;
    cluster.spec.proxy.https = Some("http://198.18.0.9:3128".parse().unwrap());
    cluster.spec.proxy.no = vec![".shop.example".parse().unwrap()];
    cluster
}

fn inputs_with_passwords(cluster: &Cluster) -> Inputs {
    let mut inputs = inputs();
    for name in [REGISTRY_PASSWORD, PROXY_PASSWORD] {
        let secret = Secret::new(PASSWORD.to_owned());
        inputs.add_secret(cluster, name.parse().unwrap(), secret);
    }
    inputs
}

#[test]
fn accounts_are_named_in_documents_and_their_passwords_are_not() {
    let cluster = cluster_with_accounts();
    let mut inputs = inputs_with_passwords(&cluster);
    let win1 = host(&cluster, "win1");
    let prepare = windows::prepare(&cluster, win1, &inputs).unwrap();
    let text = serde_json::to_string(&prepare).unwrap();
    assert!(!text.contains(PASSWORD) && !format!("{inputs:?}").contains(PASSWORD));
    // Another password makes another document, so that hosts ask for it.
    let other = Secret::new("another".to_owned());
    inputs.add_secret(&cluster, REGISTRY_PASSWORD.parse().unwrap(), other);
    let rotated = windows::prepare(&cluster, win1, &inputs).unwrap();
    assert_ne!(rotated, prepare);
}

#[test]
fn the_order_of_nodes_does_not_matter() {
    let cluster = cluster();
    let win1 = host(&cluster, "win1");
    let mut turned = facts();
    turned.nodes.reverse();
    let (one, other) = (
        windows::network(&cluster, win1, &facts()).unwrap(),
        windows::network(&cluster, win1, &turned).unwrap(),
    );
    assert_eq!(one, other);
}

#[test]
fn what_is_missing_is_named() {
    let cluster = cluster();
    let win1 = host(&cluster, "win1");
    let mut inputs = inputs();
    inputs.programs.remove(&Program::Kubelet);
    let error = windows::prepare(&cluster, win1, &inputs).unwrap_err();
    assert!(
        matches!(error, PlanError::NoProgram(Program::Kubelet)),
        "{error}"
    );
    let mut facts = facts();
    facts.nodes.retain(|node| node.name != "win1");
    let error = windows::network(&cluster, win1, &facts).unwrap_err();
    assert!(matches!(error, PlanError::NoPodNetwork(_)), "{error}");
}
