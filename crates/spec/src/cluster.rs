//! The cluster document.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::{
    Access, Artifacts, ClusterName, Existing, Host, Images, Join, Kubernetes, Machines, Network,
    OsFamily, Proxy, Role, Runtime, Windows,
};

pub const API_VERSION: &str = "casement.dev/v1alpha1";
pub const KIND: &str = "Cluster";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    pub metadata: Metadata,
    pub spec: ClusterSpec,
}

impl Cluster {
    pub fn windows_hosts(&self) -> impl Iterator<Item = &Host> {
        self.spec.hosts.iter().filter(|host| host.os.is_windows())
    }

    pub fn linux_hosts(&self) -> impl Iterator<Item = &Host> {
        let linux = |host: &&Host| host.os.family() == OsFamily::Linux;
        self.spec.hosts.iter().filter(linux)
    }

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Shown to users, and part of the names of created objects.
    pub name: ClusterName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    pub kubernetes: Kubernetes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<Existing>,
    pub join: Join,
    pub network: Network,
    /// At least one host runs Windows; names and addresses are unique.
    pub hosts: Vec<Host>,
    pub access: Access,
    pub runtime: Runtime,
    pub windows: Windows,
    #[serde(skip_serializing_if = "Proxy::is_empty")]
    pub proxy: Proxy,
    pub artifacts: Artifacts,
    pub images: Images,
    /// `None` if the machines exist already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Machines>,
}
