use std::collections::BTreeSet;

use casement_spec::{Backend, HostOs, Network};

use casement_spec::NetworkMode;

use super::*;

const MINIMAL: &str = include_str!("../../../../scenarios/minimal/cluster.yaml");

fn cluster(mode: NetworkMode, version: &str) -> Cluster {
    let mut cluster = casement_source::load("cluster.yaml", MINIMAL)
        .cluster
        .unwrap();
    cluster.spec.network = Network::of(mode);
    cluster.spec.kubernetes.version = version.parse().unwrap();
    cluster
}

/// `name version` of the requirements for a system.
fn names(cluster: &Cluster, system: System) -> BTreeSet<String> {
    let all = requirements(cluster).unwrap();
    all.iter()
        .filter(|one| one.system == system)
        .map(|one| match &one.content {
            RequiredContent::Published(published) => format!("{} {}", one.name, published.version),
            RequiredContent::Own(path) => format!("{} at {path}", one.name),
        })
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn programs_depend_on_the_network_mode() {
    let always = [
        "kubelet 1.36.4",
        "kubeadm 1.36.4",
        "kube-proxy 1.36.4",
        "containerd 2.3.4",
    ];
    let flannel = [
        "cni-plugins 1.9.1",
        "flanneld 0.28.9",
        "flannel-cni 1.9.1-flannel3",
    ];
    for (mode, own) in [
        (NetworkMode::FlannelOverlay, &flannel[..]),
        (NetworkMode::FlannelHostGw, &flannel),
        (NetworkMode::L3Routes, &["cni-plugins 1.9.1"]),
        (NetworkMode::CalicoVxlan, &["calico 3.32.1"]),
    ] {
        let names = names(&cluster(mode, "1.36.4"), System::Windows);
        assert_eq!(names, set(&[&always, own].concat()), "{mode}");
    }
}

#[test]
fn flannel_is_not_needed_with_the_casement_agent_or_images() {
    let mut cluster = cluster(NetworkMode::FlannelHostGw, "1.36.4");
    let agent = NetworkAgent::Casement;
    cluster.spec.network.backend = Backend::FlannelHostGw { agent };
    let with_own = names(&cluster, System::Windows);
    assert!(with_own.iter().all(|name| !name.starts_with("flannel")));
    cluster.spec.windows.components = WindowsComponents::HostProcess;
    let as_images = names(&cluster, System::Windows);
    assert!(!as_images.contains("kube-proxy 1.36.4"));
    assert!(as_images.contains("kubelet 1.36.4"));
}

#[test]
fn old_kubernetes_needs_crictl_and_an_older_containerd() {
    let old = names(&cluster(NetworkMode::L3Routes, "1.29.3"), System::Windows);
    assert!(old.contains("crictl 1.29.0"), "{old:?}");
    assert!(old.contains("containerd 1.7.35"), "{old:?}");
    let new = names(&cluster(NetworkMode::L3Routes, "1.31.0"), System::Windows);
    assert!(
        new.iter().all(|name| !name.starts_with("crictl")),
        "{new:?}"
    );
}

#[test]
fn docker_needs_cri_dockerd_without_dockershim() {
    let with = |version| {
        let mut cluster = cluster(NetworkMode::L3Routes, version);
        cluster.spec.runtime.kind = RuntimeKind::Docker;
        names(&cluster, System::Windows)
    };
    let has = |names: &BTreeSet<String>| names.iter().any(|name| name.starts_with("cri-dockerd"));
    assert!(!has(&with("1.23.5")));
    assert!(has(&with("1.24.0")));
    assert!(
        with("1.24.0")
            .iter()
            .all(|name| !name.starts_with("containerd"))
    );
}

#[test]
fn version_in_the_spec_takes_precedence() {
    let mut cluster = cluster(NetworkMode::L3Routes, "1.99.0");
    let wrong = requirements(&cluster).unwrap_err();
    assert!(wrong.to_string().contains("1.99.0"), "{wrong}");
    cluster.spec.runtime.version = "2.4.2".parse().ok();
    let names = names(&cluster, System::Windows);
    assert!(names.contains("containerd 2.4.2"), "{names:?}");
}

#[test]
fn local_builds_replace_releases() {
    let mut cluster = cluster(NetworkMode::L3Routes, "1.36.4");
    let overrides = &mut cluster.spec.artifacts.overrides;
    overrides.insert(Program::Kubelet, "/b/kubelet.exe".into());
    overrides.insert(Program::WinBridge, "/b/win-bridge.exe".into());
    let before = names(&cluster, System::Windows);
    assert!(before.contains("kubelet at /b/kubelet.exe"));
    assert!(!before.contains("kubelet 1.36.4"));
    assert!(
        before.contains("cni-plugins 1.9.1"),
        "host-local is still in it"
    );
    let overrides = &mut cluster.spec.artifacts.overrides;
    overrides.insert(Program::HostLocal, "/b/host-local.exe".into());
    let after = names(&cluster, System::Windows);
    assert!(!after.contains("cni-plugins 1.9.1"));
}

#[test]
fn only_managed_linux_hosts_count() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay, "1.36.4");
    let mut host = cluster.spec.hosts.first().unwrap().clone();
    host.os = HostOs::Linux;
    host.managed = false;
    cluster.spec.hosts.push(host);
    assert_eq!(names(&cluster, System::Linux), set(&[]));
    let last = cluster.spec.hosts.last_mut().unwrap();
    last.managed = true;
    let worker = [
        "kubelet 1.36.4",
        "kubeadm 1.36.4",
        "containerd 2.3.4",
        "runc 1.4.3",
        "cni-plugins 1.9.1",
    ];
    assert_eq!(names(&cluster, System::Linux), set(&worker));
    let last = cluster.spec.hosts.last_mut().unwrap();
    last.roles.insert(Role::ControlPlane);
    assert!(names(&cluster, System::Linux).contains("kubectl 1.36.4"));
}
