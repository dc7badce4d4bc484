//! Step ids and well-known paths have one definition.

use std::collections::BTreeSet;

use casement_plan::offline::documents;
use casement_plan::{ClusterFacts, Inputs};
use casement_resource::{Blob, Sha256, host_paths, service_names, step_ids};
use casement_spec::{
    Cluster, HostOs, JoinMethod, Named, Network, NetworkMode, Program, RuntimeKind,
    WindowsComponents,
};

use crate::sources;

/// With every field that adds a step.
const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: lin1, address: 10.3.0.2, os: linux, roles: [worker], managed: true}
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker], hostname: win-3f9k2}
  access:
    ssh: {user: admin, key: ./id_ed25519, knownHosts: ./known_hosts}
  windows:
    updates: [KB5012637, ./updates/kb5044281.msu]
    timeServers: [10.3.0.1]
  proxy:
    http: http://10.3.0.9:3128
    credentials: {user: anna, password: {env: PROXY_PASSWORD}}
  images:
    registry: 10.3.0.9:5000
    credentials: {user: anna, password: {env: REGISTRY_PASSWORD}}
    ca: ./registry-ca.crt
    prepull: [mcr.microsoft.com/windows/servercore:ltsc2022]
";

/// Defined in `casement_resource::step_ids`; all others in `plan`.
const SHARED: [&str; 4] = [
    step_ids::CNI,
    step_ids::CONTAINERD_CONFIG,
    step_ids::HNS_NETWORK,
    step_ids::PROXY_CONFIG,
];

const DEFINITIONS: &str = "crates/resource/src/step_ids.rs";

/// File, text, reason.
const ALLOWED: [(&str, &str, &str); 3] = [
    (
        "crates/cluster/src/facts.rs",
        "kubelet-config",
        "a ConfigMap of kubeadm",
    ),
    (
        "crates/cluster/src/permissions.rs",
        "kubelet-config",
        "a ConfigMap of kubeadm",
    ),
    (
        "crates/source/src/shapes.rs",
        "join",
        "a section of the cluster file",
    ),
];

fn clusters() -> Vec<Cluster> {
    let loaded = casement_source::load("cluster.yaml", SPEC);
    let base = loaded
        .cluster
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let runtimes = [
        ("1.36.3", HostOs::Windows2022, RuntimeKind::Containerd),
        ("1.24.0", HostOs::Windows2019, RuntimeKind::Docker),
        ("1.23.0", HostOs::Windows1803, RuntimeKind::Docker),
    ];
    let mut clusters = Vec::new();
    for mode in NetworkMode::ALL {
        for (version, os, runtime) in runtimes {
            for components in WindowsComponents::ALL {
                for is_existing in [true, false] {
                    let mut cluster = base.clone();
                    cluster.spec.network = Network::of(*mode);
                    cluster.spec.kubernetes.version = version.parse().unwrap();
                    cluster.spec.hosts[1].os = os;
                    cluster.spec.runtime.kind = runtime;
                    cluster.spec.windows.components = *components;
                    if !is_existing {
                        cluster.spec.existing = None;
                        cluster.spec.join.method = JoinMethod::Bootstrap;
                    }
                    clusters.push(cluster);
                }
            }
        }
    }
    clusters
}

/// The ids of all steps of all documents.
fn planned_ids() -> BTreeSet<String> {
    let blob = |name: &str| Blob {
        sha256: Sha256::of(name.as_bytes()),
        size: 1000,
    };
    let programs = Program::ALL.iter();
    let inputs = Inputs {
        programs: programs.map(|it| (*it, blob(it.name()))).collect(),
        updates: [("./updates/kb5044281.msu".to_owned(), blob("update"))].into(),
        registry_ca: Some("-----BEGIN CERTIFICATE-----\n".to_owned()),
        ..Inputs::default()
    };
    let mut ids = BTreeSet::new();
    for cluster in clusters() {
        let facts = ClusterFacts::assumed(&cluster).unwrap();
        let plans = documents(&cluster, &inputs, &facts).unwrap();
        let documents = plans.iter().flat_map(|plan| &plan.documents);
        let steps = documents.flat_map(|document| document.steps());
        ids.extend(steps.map(|step| step.id.to_string()));
    }
    ids
}

#[test]
fn plans_have_the_shared_ids() {
    let ids = planned_ids();
    let services = [
        service_names::CONTAINERD,
        service_names::KUBELET,
        service_names::KUBE_PROXY,
        service_names::FLANNELD,
        service_names::CRI_DOCKERD,
        service_names::DOCKER,
    ];
    let services = services.map(step_ids::service);
    for id in services.iter().map(String::as_str).chain(SHARED) {
        assert!(ids.contains(id), "{id} is not among {ids:#?}");
    }
    assert!(ids.iter().any(|id| step_ids::is_route(id)));
    assert!(ids.len() > 80, "{ids:#?}");
}

#[test]
fn step_ids_are_not_written_twice() {
    let ids = planned_ids();
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    let files = sources::PRODUCT
        .iter()
        .flat_map(|name| sources::of_crate(name));
    for file in files.filter(|file| file.path != DEFINITIONS) {
        for literal in &file.literals {
            let (path, text) = (file.path.as_str(), literal.text.as_str());
            // Words such as `join` have other meanings too.
            let is_id = ids.contains(text) && (literal.is_id || text.contains('-'));
            let from_plan = path.starts_with("crates/plan/") && !is_shared(text);
            if !is_built(text) && (!is_id || from_plan) {
                continue;
            }
            let allowed = ALLOWED.iter().find(|it| (it.0, it.1) == (path, text));
            match allowed {
                Some(entry) => {
                    used.insert(entry);
                }
                None => found.push(format!("{path}: \"{text}\"")),
            }
        }
    }
    assert!(
        found.is_empty(),
        "use `casement_resource::step_ids`:\n{}",
        found.join("\n")
    );
    assert_eq!(used.len(), ALLOWED.len(), "not needed, except {used:?}");
}

fn is_shared(id: &str) -> bool {
    SHARED.contains(&id) || id.starts_with("service-") || step_ids::is_route(id)
}

/// A pattern for an id, such as `route-{network}`.
fn is_built(text: &str) -> bool {
    let patterns = ["route-", "runs-", "service-"];
    let mut patterns = patterns.iter().filter_map(|it| text.strip_prefix(it));
    patterns.any(|rest| rest.is_empty() || rest.starts_with('{'))
}

#[test]
fn well_known_paths_are_not_written_twice() {
    let paths = [
        host_paths::WINDOWS_KUBERNETES,
        host_paths::LINUX_KUBERNETES,
        host_paths::WINDOWS_KUBELET,
        host_paths::LINUX_KUBELET,
        host_paths::KUBEADM_FLAGS,
        host_paths::WINDOWS_CNI_PROGRAMS,
        host_paths::LINUX_CNI_PROGRAMS,
        host_paths::WINDOWS_CNI_CONFIGURATION,
        host_paths::LINUX_CNI_CONFIGURATION,
        host_paths::WINDOWS_LOGS,
        host_paths::LINUX_LOGS,
        host_paths::WINDOWS_STATE,
        host_paths::LINUX_STATE,
    ];
    let mut found = Vec::new();
    let files = sources::PRODUCT
        .iter()
        .flat_map(|name| sources::of_crate(name));
    for file in files.filter(|file| file.path != "crates/resource/src/host_paths.rs") {
        for literal in file.literals {
            // Texts for users name paths below them too.
            let windows = |path: &str| path.starts_with("C:") && literal.text.contains(path);
            if paths
                .iter()
                .any(|path| literal.text == *path || windows(path))
            {
                found.push(format!("{}: \"{}\"", file.path, literal.text));
            }
        }
    }
    assert!(
        found.is_empty(),
        "use `casement_resource::host_paths`:\n{}",
        found.join("\n")
    );
}
