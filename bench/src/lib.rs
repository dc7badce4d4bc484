//! Everything that is known before a host is touched, for clusters of any size.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says where"
)]

use std::fmt::Write;

use casement_lint::{Report, Text, Texts};
use casement_plan::ClusterFacts;
use casement_plan::render::{Kind, Rendered, render};
use casement_spec::Cluster;

/// A hybrid cluster of that many hosts, half of its workers Windows: an overlay
/// over 10.0.0.0/8, of which each node has a /24.
pub fn cluster_file(hosts: usize) -> String {
    let mut text = String::from(HEAD);
    for number in 0..hosts {
        let (kind, os, role) = match number {
            0 => ("control", "ubuntu-24.04", "control-plane, etcd"),
            number if number % 2 == 0 => ("linux", "ubuntu-24.04", "worker"),
            _ => ("windows", "windows-2022", "worker"),
        };
        let address = format!("172.16.{}.{}", number / 200, number % 200 + 10);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    - {{name: {kind}{number:05}, address: {address}, os: {os}, roles: [{role}]}}"
        );
    }
    text
}

const HEAD: &str = "\
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata:
  name: large
spec:
  kubernetes:
    version: 1.36.3
    podCidr: 10.0.0.0/8
    serviceCidr: 192.168.0.0/16
  network:
    mode: flannel-overlay
  access:
    ssh: {user: Administrator, key: ./id_ed25519}
  hosts:
";

/// Reads the file and runs every rule on it; gives how many findings there are.
pub fn lint(file: &str) -> usize {
    let spec = Text {
        name: "cluster.yaml".to_owned(),
        bytes: file.as_bytes().to_vec(),
    };
    let texts = Texts {
        spec: Some(spec),
        ..Texts::default()
    };
    Report::new(&texts).findings.len()
}

/// The cluster, and a pod network for each of its hosts.
pub fn read(file: &str) -> (Cluster, ClusterFacts) {
    let loaded = casement_source::load("cluster.yaml", file);
    let cluster = loaded.cluster.expect("the file has no errors");
    let facts = ClusterFacts::assumed(&cluster).expect("the pod network is large enough");
    (cluster, facts)
}

/// All documents of all hosts, and the routes of one: on each host there are as
/// many of them as there are hosts.
pub fn render_all(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Rendered> {
    let kinds = Kind::NAMED.map(|(_, kind)| kind);
    let kinds: Vec<Kind> = kinds
        .into_iter()
        .filter(|kind| *kind != Kind::Routes)
        .collect();
    let mut files = render(cluster, &kinds, None, facts).expect("every host can be rendered");
    let last = cluster.spec.hosts.last();
    files.extend(render(cluster, &[Kind::Routes], last, facts).expect("there are routes"));
    files
}
