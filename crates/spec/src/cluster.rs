//! The document as a whole.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::named::named;
use crate::{
    Access, Cidr, ClusterName, Host, KubernetesVersion, OsFamily, Program, Registry, WindowsPath,
};

/// The only `apiVersion` so far.
pub const API_VERSION: &str = "casement.dev/v1alpha1";
/// The only `kind` so far.
pub const KIND: &str = "Cluster";

/// What a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// What it is called.
    pub metadata: Metadata,
    /// What it should be.
    pub spec: ClusterSpec,
}

impl Cluster {
    /// The hosts that run Windows, in the file's order.
    pub fn windows_hosts(&self) -> impl Iterator<Item = &Host> {
        self.spec.hosts.iter().filter(|host| host.os.is_windows())
    }

    /// The hosts that run Linux, in the file's order.
    pub fn linux_hosts(&self) -> impl Iterator<Item = &Host> {
        let linux = |host: &&Host| host.os.family() == OsFamily::Linux;
        self.spec.hosts.iter().filter(linux)
    }
}

impl Serialize for Cluster {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Cluster", 4)?;
        document.serialize_field("apiVersion", API_VERSION)?;
        document.serialize_field("kind", KIND)?;
        document.serialize_field("metadata", &self.metadata)?;
        document.serialize_field("spec", &self.spec)?;
        document.end()
    }
}

/// What a cluster is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Its name; shown to people, and in what casement makes.
    pub name: ClusterName,
}

/// What a cluster should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Kubernetes itself.
    pub kubernetes: Kubernetes,
    /// The control plane, which exists already.
    pub existing: Existing,
    /// How pods reach each other.
    pub network: Network,
    /// The hosts; at least one of them runs Windows, names and addresses differ.
    pub hosts: Vec<Host>,
    /// How they are reached.
    pub access: Access,
    /// What is particular to Windows hosts.
    pub windows: Windows,
    /// Where images come from.
    #[serde(skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// Where programs come from.
    #[serde(skip_serializing_if = "Artifacts::is_empty")]
    pub artifacts: Artifacts,
}

/// Kubernetes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes {
    /// The version that nodes run.
    pub version: KubernetesVersion,
    /// Where pods get their addresses from.
    pub pod_cidr: Cidr,
    /// Where services get their addresses from.
    pub service_cidr: Cidr,
}

/// A control plane that exists already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Existing {
    /// The file with which to talk to it.
    pub kubeconfig: Utf8PathBuf,
}

named! {
    /// How pods on different hosts reach each other.
    pub enum NetworkMode {
        /// VXLAN by flannel.
        FlannelOverlay = "flannel-overlay",
        /// Routes made by flannel.
        FlannelHostGw = "flannel-host-gw",
        /// Routes made by casement; no daemon.
        L3Routes = "l3-routes",
        /// VXLAN by Calico.
        CalicoVxlan = "calico-vxlan",
    }
}

/// How pods reach each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// By what means.
    pub mode: NetworkMode,
}

/// What is particular to Windows hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Windows {
    /// Where programs are put.
    pub base_dir: WindowsPath,
}

/// Where images come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// The registry to pull from; without one, each image's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<Registry>,
    /// Who signed its certificate, as a PEM file; only together with
    /// `registry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
}

impl Images {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where programs come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifacts {
    /// One's own builds, as files.
    pub overrides: BTreeMap<Program, Utf8PathBuf>,
}

impl Artifacts {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
