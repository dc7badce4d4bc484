//! Decoded clusters.

#![allow(clippy::unwrap_used, reason = "test code")]

use camino::Utf8Path;
use casement_source::{load, to_yaml};
use casement_spec::{Cluster, NetworkMode, Program, Role, SecretRef, SshCredential};

const LAB: &str = include_str!("../../../scenarios/lab/cluster.yaml");
const MINIMAL: &str = include_str!("../../../scenarios/minimal/cluster.yaml");

fn cluster(text: &str) -> Cluster {
    load("cluster.yaml", text).cluster.unwrap()
}

#[test]
fn missing_fields_get_defaults() {
    let yaml = to_yaml(&cluster(MINIMAL)).unwrap();
    let expected = r#"apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  kubernetes:
    version: "1.36.3"
    podCidr: 10.244.0.0/16
    serviceCidr: 10.96.0.0/12
    cidrAllocation: controller
  existing:
    kubeconfig: ./admin.conf
  join:
    method: kubeadm
  network:
    mode: l3-routes
    hnsNetwork: cbr0
    cniName: cbr0
  hosts:
  - name: windows01
    address: "10.3.0.4"
    os: windows
    roles:
    - worker
    managed: true
    taints:
    - os=windows:NoSchedule
  access:
    ssh:
      port: 22
      key:
        file: ~/.ssh/id_ed25519
      knownHosts: ~/.ssh/known_hosts
  runtime:
    kind: containerd
  windows:
    baseDir: C:\k
    components: services
    reboot: auto
    repair: auto
    defender: exclude
  artifacts:
    lock: ./casement.lock
  images:
    verify: build
"#;
    assert_eq!(yaml, expected);
}

#[test]
fn host_settings_override_cluster_settings() {
    let lab = cluster(LAB);
    let logins: Vec<_> = lab.spec.hosts.iter().map(|host| lab.login(host)).collect();
    let users: Vec<_> = logins.iter().map(|login| login.user).collect();
    assert_eq!(users, ["Administrator", "Administrator", "root"]);
    let key = SshCredential::key(SecretRef::File("./id_ed25519".into()));
    for login in logins {
        assert_eq!((login.port, login.credential), (22, &key));
        assert_eq!(login.known_hosts, "./known_hosts");
    }
    let minimal = cluster(MINIMAL);
    let host = minimal.spec.hosts.first().unwrap();
    assert_eq!(minimal.login(host).user, "Administrator");
}

#[test]
fn lab_file_describes_the_lab() {
    let lab = cluster(LAB);
    assert_eq!(lab.spec.network.mode(), NetworkMode::L3Routes);
    assert_eq!(lab.windows_hosts().count(), 2);
    let linux: Vec<_> = lab.linux_hosts().collect();
    assert!(
        linux
            .iter()
            .all(|host| host.managed && host.taints.is_empty())
    );
    assert!(
        lab.spec
            .hosts
            .iter()
            .all(|host| host.roles == [Role::Worker].into())
    );
    assert_eq!(lab.spec.artifacts.overrides.len(), 7);
    let shim = lab.spec.artifacts.overrides.get(&Program::ContainerdShim);
    assert!(shim.unwrap().ends_with("containerd-shim-runhcs-v1.exe"));
}

#[test]
fn paths_resolve_against_file_directory_or_home() {
    let mut lab = cluster(LAB);
    lab.resolve(Utf8Path::new("/lab"), None).unwrap();
    let files: Vec<_> = lab
        .files_mut()
        .into_iter()
        .map(|(field, path)| format!("{field} {path}"))
        .collect();
    assert_eq!(files.len(), 12);
    assert!(files.contains(&"spec.existing.kubeconfig /lab/admin.conf".to_owned()));
    assert!(files.contains(&"spec.images.ca /lab/registry-ca.crt".to_owned()));
    let mut minimal = cluster(MINIMAL);
    let error = minimal.resolve(Utf8Path::new("/lab"), None).unwrap_err();
    assert_eq!(error.field, "spec.access.ssh.key");
    minimal
        .resolve(Utf8Path::new("/lab"), Some(Utf8Path::new("/home/me")))
        .unwrap();
    let key = &minimal.spec.access.ssh.credential;
    let file = SecretRef::File("/home/me/.ssh/id_ed25519".into());
    assert_eq!(*key, SshCredential::key(file));
}

#[test]
fn file_fields_have_positions() {
    use casement_diag::{Diagnostic, Style, render};

    let loaded = load("cluster.yaml", LAB);
    let mut lab = loaded.cluster.unwrap();
    let files = lab.files_mut();
    let (field, path) = files
        .iter()
        .find(|(field, _)| field.contains("win-bridge"))
        .unwrap();
    let finding = Diagnostic::error(field.parse().unwrap(), format!("`{path}` not found"));
    let text = render(&finding, Some(&loaded.map), Style::Plain);
    assert!(text.contains("cluster.yaml:33:19"), "{text}");
}
