//! The documents of a Windows host and a Linux host, as files to be read.
//!
//! `BLESS=1` rewrites them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

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

fn same_as_golden(name: &str, document: &NodeDocument) {
    let text = format!("{}\n", serde_json::to_string_pretty(document).unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(format!("{name}.json"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text,
        golden,
        "{} differs; BLESS=1 writes it",
        path.display()
    );
}

#[test]
fn a_windows_host_has_a_document_for_each_stage() {
    let cluster = cluster();
    let win1 = host(&cluster, "win1");
    let prepare = windows::prepare(&cluster, win1, &inputs()).unwrap();
    same_as_golden("windows-prepare", &prepare);
    let join = windows::join(&cluster, win1, &facts()).unwrap();
    same_as_golden("windows-join", &join);
    let network = windows::network(&cluster, win1, &facts()).unwrap();
    same_as_golden("windows-network", &network);
}

#[test]
fn a_managed_linux_host_gets_routes_and_others_get_the_commands() {
    let cluster = cluster();
    let lin1 = host(&cluster, "lin1");
    same_as_golden(
        "linux-network",
        &linux::network(&cluster, lin1, &facts()).unwrap(),
    );
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

#[test]
fn a_linux_host_of_a_new_cluster_is_prepared_now_and_for_the_next_boot() {
    let mut cluster = cluster();
    cluster.spec.existing = None;
    let prepare = linux::prepare(&cluster, host(&cluster, "lin1"), &inputs()).unwrap();
    same_as_golden("linux-prepare", &prepare);
}

/// Accounts at the registry and at the proxy: the steps that have to do with them.
#[test]
fn accounts_are_named_in_documents_and_their_passwords_are_not() {
    const PASSWORD: &str = "Tr0ub4dor";
    let mut cluster = cluster();
    let account = Some(Account {
        user: "puller".to_owned(),
        password: SecretRef::Prompt,
    });
    cluster.spec.images.credentials = account.clone();
    cluster.spec.proxy.credentials = account;
    cluster.spec.proxy.https = Some("http://198.18.0.9:3128".parse().unwrap());
    cluster.spec.proxy.no = vec![".shop.example".parse().unwrap()];
    let mut inputs = inputs();
    for name in [REGISTRY_PASSWORD, PROXY_PASSWORD] {
        let secret = Secret::new(PASSWORD.to_owned());
        inputs.add_secret(&cluster, name.parse().unwrap(), secret);
    }
    let win1 = host(&cluster, "win1");
    let prepare = windows::prepare(&cluster, win1, &inputs).unwrap();
    let concerned = ["dir-containerd", "dir-base", "service-containerd"];
    let concerned = |step: &&Step| {
        let secret = matches!(step.resource, Resource::SecretFile(_));
        secret || concerned.contains(&step.id.as_str())
    };
    let steps: Vec<_> = prepare.steps().iter().filter(concerned).cloned().collect();
    let steps = steps.into_iter().map(|mut step| {
        step.after.clear();
        step
    });
    let host = win1.name.to_string();
    let shown = NodeDocument::new(host, Stage::Prepare, steps.collect()).unwrap();
    same_as_golden("windows-accounts", &shown);
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
