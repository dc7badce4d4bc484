//! The kubelet's configuration and flags, for each release and both systems.
//!
//! With kubeadm, the cluster's own `kubelet-config` is what a node starts from:
//! casement patches what a node of this system needs. Where kubeadm cannot patch
//! yet, flags say the same. Without kubeadm the whole file is casement's.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_catalog::{Behaviour, Program, System};
use casement_resource::{Effect, Taint};
use casement_spec::{Cluster, Host, HostOs, ImageRef, JoinMethod};
use serde::Serialize;

use crate::places::Places;
use crate::release::{Release, Runtime};

/// `KubeletConfiguration`, the fields that casement decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeletConfiguration {
    #[serde(flatten)]
    whole: Option<Whole>,
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

/// What only a file that stands alone has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
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

/// The name of a pause image that a host makes for itself.
pub const OWN_PAUSE: &str = "kubeletwin/pause:latest";

/// What decides the kubelet of a host.
#[derive(Debug, Clone, Copy)]
pub struct Kubelet<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The host.
    pub host: &'a Host,
    /// The release.
    pub release: Release,
    /// Where things are.
    pub places: &'a Places,
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

    /// The pause image, with its registry.
    pub fn pause(&self) -> String {
        let images = &self.cluster.spec.images;
        if let Some(pause) = &images.pause {
            return self.in_place_of(pause).to_string();
        }
        if self.own_pause().is_some() {
            return OWN_PAUSE.to_owned();
        }
        let registry = images.registry.as_ref();
        let registry = registry.map_or("registry.k8s.io", |registry| registry.as_str());
        let pause = format!("{registry}/pause:{}", self.release.pause());
        match pause.parse() {
            Ok(image) => self.in_place_of(&image).to_string(),
            Err(_) => pause,
        }
    }

    /// The image that the spec wants in the place of another; mostly that one.
    pub fn in_place_of<'b>(&'b self, image: &'b ImageRef) -> &'b ImageRef {
        let overrides = &self.cluster.spec.images.overrides;
        overrides.get(image).unwrap_or(image)
    }

    /// The base of a pause image that the host makes for itself: nobody
    /// publishes one for what is older than Windows Server 2019.
    pub fn own_pause(&self) -> Option<String> {
        let tag = match self.host.os {
            HostOs::Windows2016 => "sac2016",
            HostOs::Windows1709 => "1709",
            HostOs::Windows1803 => "1803",
            _ => return None,
        };
        let images = &self.cluster.spec.images;
        if images.pause.is_some() {
            return None;
        }
        let registry = images.registry.as_ref();
        let registry = registry.map_or("mcr.microsoft.com", |registry| registry.as_str());
        Some(format!("{registry}/windows/nanoserver:{tag}"))
    }

    /// The taints that the Node has from its first second.
    pub fn taints(&self) -> Vec<Taint> {
        self.host.taints.iter().map(taint).collect()
    }

    /// The configuration: whole for a plain bootstrap, else what is laid over
    /// the cluster's own.
    pub fn configuration(&self) -> KubeletConfiguration {
        let release = self.release;
        let socket = release.endpoint_in_configuration();
        let taints = release.taints_in_configuration().then(|| self.taints());
        KubeletConfiguration {
            whole: self.stands_alone().then(|| self.whole()),
            container_runtime_endpoint: socket.then(|| self.places.cri_socket.to_owned()),
            register_with_taints: taints.filter(|taints| self.windows() || !taints.is_empty()),
            // Control groups and their kin are nothing that Windows has.
            cgroups_per_qos: self.windows().then_some(false),
            enforce_node_allocatable: self.windows().then_some([]),
            feature_gates: gates(self.cluster, release),
        }
    }

    /// Whether no cluster-wide configuration is below it.
    pub fn stands_alone(&self) -> bool {
        self.cluster.spec.join.method == JoinMethod::Bootstrap
    }

    fn whole(&self) -> Whole {
        let kubernetes = &self.cluster.spec.kubernetes;
        Whole {
            api_version: "kubelet.config.k8s.io/v1beta1",
            kind: "KubeletConfiguration",
            authentication: Authentication {
                anonymous: Switch { enabled: false },
                webhook: Switch { enabled: true },
                x509: ClientCa {
                    client_ca_file: self.places.in_kubernetes(&["pki", "ca.crt"]),
                },
            },
            authorization: Mode { mode: "Webhook" },
            cluster_dns: [kubernetes.dns()],
            cluster_domain: kubernetes.domain().as_str().to_owned(),
            rotate_certificates: true,
            // Windows has no such file, and the kubelet would look for it.
            resolv_conf: self.windows().then_some(""),
        }
    }

    /// The patch for kubeadm, where it takes one.
    pub fn patch(&self) -> Option<String> {
        let patched = !self.stands_alone() && self.release.patches_kubelet();
        patched.then(|| casement_net::text(&self.configuration()))
    }

    /// The flags, of which none is unknown to the release. What
    /// `hosts[].kubeletArgs` says comes by way of kubeadm, or last.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = self.places_flags();
        flags.extend(self.runtime_flags());
        if !self.stands_alone() && !self.release.patches_kubelet() {
            flags.extend(self.unpatched_flags());
        }
        if self.stands_alone() && !self.release.taints_in_configuration() {
            let taints: Vec<String> = self.taints().iter().map(ToString::to_string).collect();
            flags.push(("register-with-taints", taints.join(",")));
        }
        let known = |name: &str| self.release.takes(Program::Kubelet, self.system(), name);
        let flags = flags.into_iter().filter(|(name, _)| known(name));
        let mut lines: Vec<String> = flags
            .map(|(name, value)| format!("--{name}={value}"))
            .collect();
        if self.stands_alone() {
            let further = self.host.kubelet_args.iter();
            lines.extend(further.map(|(name, value)| format!("--{name}={value}")));
        }
        lines
    }

    fn places_flags(&self) -> Vec<(&'static str, String)> {
        let places = self.places;
        vec![
            (
                "bootstrap-kubeconfig",
                places.in_kubernetes(&["bootstrap-kubelet.conf"]),
            ),
            ("kubeconfig", places.in_kubernetes(&["kubelet.conf"])),
            ("config", places.in_kubelet(&["config.yaml"])),
            ("cert-dir", places.in_kubelet(&["pki"])),
            ("hostname-override", self.host.name.to_string()),
            ("node-ip", self.host.address.to_string()),
        ]
    }

    fn runtime_flags(&self) -> Vec<(&'static str, String)> {
        let places = self.places;
        let socket = || ("container-runtime-endpoint", places.cri_socket.to_owned());
        match self.release.runtime() {
            Runtime::Dockershim => vec![
                ("network-plugin", "cni".to_owned()),
                ("cni-bin-dir", places.cni_programs.to_owned()),
                ("cni-conf-dir", places.cni_configuration.to_owned()),
                ("image-pull-progress-deadline", "20m".to_owned()),
                ("pod-infra-container-image", self.pause()),
            ],
            _ if self.release.endpoint_in_configuration() => Vec::new(),
            _ => vec![("container-runtime", "remote".to_owned()), socket()],
        }
    }

    /// What a patch would say, for releases whose kubeadm takes none. Taints are
    /// kubeadm's to say.
    fn unpatched_flags(&self) -> Vec<(&'static str, String)> {
        if !self.windows() {
            return Vec::new();
        }
        let mut flags = vec![
            ("cgroups-per-qos", "false".to_owned()),
            ("enforce-node-allocatable", String::new()),
            ("resolv-conf", String::new()),
        ];
        if self.release.holds(Behaviour::CaBesideKubelet) {
            let ca = self.places.in_kubernetes(&["pki", "ca.crt"]);
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

/// The feature gates of the spec that the release still has: a gate that is gone
/// stops the program that is given it.
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
