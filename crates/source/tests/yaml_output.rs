//! A cluster as text again: in its usual form, and with every default.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::Path;

use casement_source::{load, normalised, with_defaults};

const MINIMAL: &str = include_str!("../../../scenarios/minimal/cluster.yaml");

#[test]
fn every_default_is_there_and_marked() {
    let loaded = load("cluster.yaml", MINIMAL);
    let text = with_defaults(&loaded.cluster.unwrap(), &loaded.map).unwrap();
    let expected = r#"apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  kubernetes:
    version: "1.36.3"
    podCidr: 10.244.0.0/16  # default
    serviceCidr: 10.96.0.0/12  # default
    cidrAllocation: controller  # default
  existing:
    kubeconfig: ./admin.conf
  join:
    method: kubeadm  # default
  network:
    mode: l3-routes
    hnsNetwork: cbr0  # default
    cniName: cbr0  # default
  hosts:
  - name: windows01
    address: "10.3.0.4"
    os: windows
    roles:  # default
    - worker
    managed: true  # default
    taints:  # default
    - os=windows:NoSchedule
  access:
    ssh:
      port: 22  # default
      key:
        file: ~/.ssh/id_ed25519  # default
      knownHosts: ~/.ssh/known_hosts  # default
  runtime:
    kind: containerd  # default
  windows:
    baseDir: C:\k  # default
    components: services  # default
    reboot: auto  # default
    repair: auto  # default
    defender: exclude  # default
  artifacts:
    lock: ./casement.lock  # default
  images:
    verify: build  # default
# Decided later, unless the file says it:
#   kubernetes.endpoint       the cluster's own
#   kubernetes.clusterDomain  the cluster's own
#   kubernetes.dnsIp          the cluster's own
#   network.mtu               what the hosts' own leaves
#   network.interface         the one with the host's address
#   access.ssh.user           Administrator on Windows, root on Linux
#   runtime.version           one that fits the version of Kubernetes
#   artifacts.cache           casement in the user's cache folder
#   images.pause              one that fits the version of Kubernetes
"#;
    assert_eq!(text, expected);
}

#[test]
fn the_usual_form_has_what_was_written_and_no_more() {
    let text = "
kind: Cluster
apiVersion: casement.dev/v1alpha1
spec:
  hosts: [{os: windows-2022, address: 10.3.0.4, name: windows01}]
  network: {mode: flannel-overlay, vni: 5000}
  kubernetes: {version: v1.36.3, podCidr: [10.244.0.0/16]}
  existing: {kubeconfig: admin.conf}
  access: {ssh: {}, winrm: {}}
  windows: {}
metadata: {name: shop}
";
    let loaded = load("cluster.yaml", text);
    let text = normalised(&loaded.cluster.unwrap(), &loaded.map).unwrap();
    let expected = r#"apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  kubernetes:
    version: "1.36.3"
    podCidr: 10.244.0.0/16
  existing:
    kubeconfig: admin.conf
  network:
    mode: flannel-overlay
    vni: 5000
  hosts:
  - name: windows01
    address: "10.3.0.4"
    os: windows-2022
  access:
    ssh: {}
    winrm: {}
  windows: {}
"#;
    assert_eq!(text, expected);
}

#[test]
fn both_forms_of_every_scenario_read_back_to_the_same_cluster() {
    let mut read = 0;
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let Ok(text) = fs::read_to_string(folder.join("cluster.yaml")) else {
            continue;
        };
        let loaded = load("cluster.yaml", &text);
        let Some(cluster) = loaded.cluster else {
            continue;
        };
        let usual = normalised(&cluster, &loaded.map).unwrap();
        let full = with_defaults(&cluster, &loaded.map).unwrap();
        for text in [&usual, &full] {
            let again = load("cluster.yaml", text);
            assert_eq!(again.cluster.as_ref(), Some(&cluster), "{text}");
        }
        let again = load("cluster.yaml", &usual);
        let twice = normalised(&cluster, &again.map).unwrap();
        assert_eq!(twice, usual, "{}", folder.display());
        let again = load("cluster.yaml", &full);
        let twice = with_defaults(&cluster, &again.map).unwrap();
        assert!(!twice.contains("# default"), "{twice}");
        read += 1;
    }
    assert!(read > 10);
}
