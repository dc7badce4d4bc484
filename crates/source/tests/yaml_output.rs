//! Clusters written as YAML: normalized, and with all defaults.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use casement_source::{load, normalized, with_defaults};

const MINIMAL: &str = include_str!("../../../scenarios/minimal/cluster.yaml");

#[test]
fn defaults_are_included_and_marked() {
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
# Determined later unless set:
#   kubernetes.endpoint       from the existing cluster
#   kubernetes.clusterDomain  from the existing cluster
#   kubernetes.dnsIp          from the existing cluster
#   network.mtu               from the MTU of the hosts
#   network.interface         the interface with the host address
#   access.ssh.user           Administrator on Windows, root on Linux
#   runtime.version           matches the Kubernetes version
#   artifacts.cache           casement in the user cache directory
#   images.pause              matches the Kubernetes version
"#;
    assert_eq!(text, expected);
}

#[test]
fn normalized_form_has_only_explicit_fields() {
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
    let text = normalized(&loaded.cluster.unwrap(), &loaded.map).unwrap();
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
fn both_forms_of_every_scenario_round_trip() {
    let mut count = 0;
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
        let normalized_text = normalized(&cluster, &loaded.map).unwrap();
        let full = with_defaults(&cluster, &loaded.map).unwrap();
        for text in [&normalized_text, &full] {
            let again = load("cluster.yaml", text);
            assert_eq!(again.cluster.as_ref(), Some(&cluster), "{text}");
        }
        let again = load("cluster.yaml", &normalized_text);
        let twice = normalized(&cluster, &again.map).unwrap();
        assert_eq!(twice, normalized_text, "{}", folder.display());
        let again = load("cluster.yaml", &full);
        let twice = with_defaults(&cluster, &again.map).unwrap();
        assert!(!twice.contains("# default"), "{twice}");
        count += 1;
    }
    assert!(count > 10);
}
