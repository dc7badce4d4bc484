//! The kubelet's configuration and flags, for each release and both operating systems.
//!
//! With kubeadm, a node starts from the cluster's `kubelet-config`, and casement patches what
//! the operating system needs. Releases whose kubeadm cannot patch get flags instead. Without
//! kubeadm, casement writes the whole file.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_catalog::{Behavior, Program, System, windows_of_os};
use casement_resource::{Effect, Taint};
use casement_spec::{Cluster, Host, ImageRef, JoinMethod, Named as _};
use serde::Serialize;

use crate::node_paths::NodePaths;
use crate::release::{Release, Runtime};

/// `KubeletConfiguration`: the fields that casement sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeletConfiguration {
    #[serde(flatten)]
    standalone: Option<Standalone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container_runtime_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    register_with_taints: Option<Vec<Taint>>,
    #[serde(rename = "cgroupsPerQOS", skip_serializing_if = "Option::is_none")]
    cgroups_per_qos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforce_node_allocatable: Option<[&'static str; 0]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: BTreeMap<String, bool>,
}

/// The fields of a standalone file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Standalone {
    api_version: &'static str,
    kind: &'static str,
    authentication: Authentication,
    authorization: Mode,
    #[serde(rename = "clusterDNS")]
    cluster_dns: [IpAddr; 1],
    cluster_domain: String,
    rotate_certificates: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolv_conf: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Authentication {
    anonymous: Switch,
    webhook: Switch,
    x509: ClientCa,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Switch {
    enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientCa {
    client_ca_file: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Mode {
    mode: &'static str,
}

/// A pause image that the host builds.
pub const OWN_PAUSE: &str = "kubeletwin/pause:latest";

#[derive(Debug, Clone, Copy)]
pub struct Kubelet<'a> {
    pub cluster: &'a Cluster,
    pub host: &'a Host,
    pub release: Release,
    pub paths: &'a NodePaths,
}

impl Kubelet<'_> {
    fn windows(&self) -> bool {
        self.host.os.is_windows()
    }

    fn system(&self) -> System {
        if self.windows() {
            System::Windows
        } else {
            System::Linux
        }
    }

    /// With its registry.
    pub fn pause(&self) -> String {
        let images = &self.cluster.spec.images;
        if let Some(pause) = &images.pause {
            return self.overridden(pause).to_string();
        }
        if self.own_pause().is_some() {
            return OWN_PAUSE.to_owned();
        }
        let registry = images.registry.as_ref();
        let registry = registry.map_or("registry.k8s.io", |registry| registry.as_str());
        let pause = format!("{registry}/pause:{}", self.release.pause());
        match pause.parse() {
            Ok(image) => self.overridden(&image).to_string(),
            Err(_) => pause,
        }
    }

    /// Applies `images.overrides`.
    pub fn overridden<'b>(&'b self, image: &'b ImageRef) -> &'b ImageRef {
        let overrides = &self.cluster.spec.images.overrides;
        overrides.get(image).unwrap_or(image)
    }

    /// The base of a pause image that the host builds itself, for Windows releases without a
    /// published one.
    pub fn own_pause(&self) -> Option<String> {
        let tag = windows_of_os(self.host.os.name())?.pause_base?;
        let images = &self.cluster.spec.images;
        if images.pause.is_some() {
            return None;
        }
        let registry = images.registry.as_ref();
        let registry = registry.map_or("mcr.microsoft.com", |registry| registry.as_str());
        Some(format!("{registry}/windows/nanoserver:{tag}"))
    }

    /// The taints that the Node registers with.
    pub fn taints(&self) -> Vec<Taint> {
        self.host.taints.iter().map(taint).collect()
    }

    /// Complete for a plain bootstrap, otherwise a patch of the cluster's configuration.
    pub fn configuration(&self) -> KubeletConfiguration {
        let release = self.release;
        let socket = release.endpoint_in_configuration();
        let taints = release.taints_in_configuration().then(|| self.taints());
        KubeletConfiguration {
            standalone: self.is_standalone().then(|| self.standalone()),
            container_runtime_endpoint: socket.then(|| self.paths.cri_socket.to_owned()),
            register_with_taints: taints.filter(|taints| self.windows() || !taints.is_empty()),
            // Windows has no cgroups.
            cgroups_per_qos: self.windows().then_some(false),
            enforce_node_allocatable: self.windows().then_some([]),
            feature_gates: gates(self.cluster, release),
        }
    }

    /// Whether there is no cluster-wide configuration.
    pub fn is_standalone(&self) -> bool {
        self.cluster.spec.join.method == JoinMethod::Bootstrap
    }

    fn standalone(&self) -> Standalone {
        let kubernetes = &self.cluster.spec.kubernetes;
        Standalone {
            api_version: "kubelet.config.k8s.io/v1beta1",
            kind: "KubeletConfiguration",
            authentication: Authentication {
                anonymous: Switch { enabled: false },
                webhook: Switch { enabled: true },
                x509: ClientCa {
                    client_ca_file: self.paths.in_kubernetes(&["pki", "ca.crt"]),
                },
            },
            authorization: Mode { mode: "Webhook" },
            cluster_dns: [kubernetes.dns()],
            cluster_domain: kubernetes.domain().as_str().to_owned(),
            rotate_certificates: true,
            // Windows has no such file; the kubelet would look for it.
            resolv_conf: self.windows().then_some(""),
        }
    }

    /// `None` if kubeadm does not support patches.
    pub fn patch(&self) -> Option<String> {
        let patched = !self.is_standalone() && self.release.patches_kubelet();
        patched.then(|| casement_net::text(&self.configuration()))
    }

    /// Only flags that the release knows. `hosts[].kubeletArgs` are passed by kubeadm, or come
    /// last.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = self.path_flags();
        flags.extend(self.runtime_flags());
        if !self.is_standalone() && !self.release.patches_kubelet() {
            flags.extend(self.unpatched_flags());
        }
        if self.is_standalone() && !self.release.taints_in_configuration() {
            let taints: Vec<String> = self.taints().iter().map(ToString::to_string).collect();
            flags.push(("register-with-taints", taints.join(",")));
        }
        let known = |name: &str| self.release.has_flag(Program::Kubelet, self.system(), name);
        let flags = flags.into_iter().filter(|(name, _)| known(name));
        let mut lines: Vec<String> = flags
            .map(|(name, value)| format!("--{name}={value}"))
            .collect();
        if self.is_standalone() {
            let extra = self.host.kubelet_args.iter();
            lines.extend(extra.map(|(name, value)| format!("--{name}={value}")));
        }
        lines
    }

    fn path_flags(&self) -> Vec<(&'static str, String)> {
        let paths = self.paths;
        vec![
            (
                "bootstrap-kubeconfig",
                paths.in_kubernetes(&["bootstrap-kubelet.conf"]),
            ),
            ("kubeconfig", paths.in_kubernetes(&["kubelet.conf"])),
            ("config", paths.in_kubelet(&["config.yaml"])),
            ("cert-dir", paths.in_kubelet(&["pki"])),
            ("hostname-override", self.host.name.to_string()),
            ("node-ip", self.host.address.to_string()),
        ]
    }

    fn runtime_flags(&self) -> Vec<(&'static str, String)> {
        let paths = self.paths;
        let socket = || ("container-runtime-endpoint", paths.cri_socket.to_owned());
        match self.release.runtime() {
            Runtime::Dockershim => vec![
                ("network-plugin", "cni".to_owned()),
                ("cni-bin-dir", paths.cni_programs.to_owned()),
                ("cni-conf-dir", paths.cni_configuration.to_owned()),
                ("image-pull-progress-deadline", "20m".to_owned()),
                ("pod-infra-container-image", self.pause()),
            ],
            _ if self.release.endpoint_in_configuration() => Vec::new(),
            _ => vec![("container-runtime", "remote".to_owned()), socket()],
        }
    }

    /// In place of a patch, for releases whose kubeadm does not support one. kubeadm passes the
    /// taints.
    fn unpatched_flags(&self) -> Vec<(&'static str, String)> {
        if !self.windows() {
            return Vec::new();
        }
        let mut flags = vec![
            ("cgroups-per-qos", "false".to_owned()),
            ("enforce-node-allocatable", String::new()),
            ("resolv-conf", String::new()),
        ];
        if self.release.holds(Behavior::CaBesideKubelet) {
            let ca = self.paths.in_kubernetes(&["pki", "ca.crt"]);
            flags.push(("client-ca-file", ca));
        }
        let gates = gates(self.cluster, self.release);
        if !gates.is_empty() {
            let gates: Vec<String> = gates
                .iter()
                .map(|(gate, on)| format!("{gate}={on}"))
                .collect();
            flags.push(("feature-gates", gates.join(",")));
        }
        flags
    }
}

/// The feature gates of the spec that the release has: programs do not start with an unknown
/// gate.
pub fn gates(cluster: &Cluster, release: Release) -> BTreeMap<String, bool> {
    let gates = cluster.spec.kubernetes.feature_gates.iter();
    gates
        .filter(|(gate, _)| release.has_gate(gate.as_str()))
        .map(|(gate, on)| (gate.to_string(), *on))
        .collect()
}

fn taint(taint: &casement_spec::Taint) -> Taint {
    Taint {
        key: taint.key.to_string(),
        value: taint.value.to_string(),
        effect: match taint.effect {
            casement_spec::TaintEffect::NoSchedule => Effect::NoSchedule,
            casement_spec::TaintEffect::PreferNoSchedule => Effect::PreferNoSchedule,
            casement_spec::TaintEffect::NoExecute => Effect::NoExecute,
        },
    }
}
