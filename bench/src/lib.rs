//! Lint and render for generated clusters of any size, without connecting to hosts.

#![expect(clippy::expect_used, reason = "a benchmark may panic")]

use std::fmt::Write;

use casement_lint::{Report, Text, Texts};
use casement_plan::ClusterFacts;
use casement_plan::render::{Kind, Rendered, render};
use casement_spec::Cluster;

/// The file of a hybrid cluster, half of its workers Windows, with an overlay over
/// 10.0.0.0/8, of which each node has a /24.
pub fn cluster_file(hosts: usize) -> String {
    let mut text = String::from(HEADER);
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

const HEADER: &str = "\
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

/// Loads the file and runs all rules; returns the number of findings.
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

/// The cluster, with an assumed pod network for each host.
pub fn load(file: &str) -> (Cluster, ClusterFacts) {
    let loaded = casement_source::load("cluster.yaml", file);
    let cluster = loaded.cluster.expect("the file has no errors");
    let facts = ClusterFacts::assumed(&cluster).expect("the pod network is large enough");
    (cluster, facts)
}

/// All documents of all hosts, but the routes of only one, because each host has a
/// route to every other.
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
