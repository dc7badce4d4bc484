//! The document as a whole.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::{
    Access, Artifacts, ClusterName, Existing, Host, Images, Join, Kubernetes, Machines, Network,
    OsFamily, Proxy, Role, Runtime, Windows,
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

    /// The hosts with a role, in the file's order.
    pub fn hosts_with(&self, role: Role) -> impl Iterator<Item = &Host> {
        self.spec.hosts.iter().filter(move |host| host.has(role))
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
    /// The control plane, if it exists already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<Existing>,
    /// How nodes join.
    pub join: Join,
    /// How pods reach each other.
    pub network: Network,
    /// The hosts; at least one of them runs Windows, names and addresses differ.
    pub hosts: Vec<Host>,
    /// How they are reached.
    pub access: Access,
    /// What runs the containers.
    pub runtime: Runtime,
    /// What is particular to Windows hosts.
    pub windows: Windows,
    /// The way out, where there is no direct one.
    #[serde(skip_serializing_if = "Proxy::is_empty")]
    pub proxy: Proxy,
    /// Where programs come from.
    pub artifacts: Artifacts,
    /// Where images come from.
    pub images: Images,
    /// Where the hosts' machines are made; `None` where they are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Machines>,
}
