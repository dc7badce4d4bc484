//! The state of a simulated host.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    DynamicPortsFacts, FirewallRuleFacts, HnsEndpointFacts, HnsNetworkFacts, HostPath,
    ObservedAdapter, Protocol, RegistryData, RouteEntry, ServiceDefinition, ServiceState,
    StartType, WindowsFeatureFacts,
};

use super::linux::LinuxWorld;
use crate::platform::Balancer;

/// Two hosts are the same if their worlds are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    /// The file system: entries with their access.
    pub entries: BTreeMap<HostPath, (SimEntry, String)>,
    pub variables: BTreeMap<String, String>,
    pub search_path: Vec<String>,
    pub keys: BTreeSet<String>,
    /// Registry values by key and name.
    pub values: BTreeMap<(String, String), RegistryData>,
    /// Services by lower-case name.
    pub services: BTreeMap<String, Service>,
    /// Firewall rules by lower-case name.
    pub firewall: BTreeMap<String, Vec<FirewallRuleFacts>>,
    /// Features by lower-case name.
    pub features: BTreeMap<String, Feature>,
    /// The feature, in lower case, that a boot does not finish installing.
    pub stuck_feature: Option<String>,
    /// The Windows build, if it is not that of Windows Server 2022.
    pub other_build: Option<u32>,
    /// The Windows revision, and the one after the next boot.
    pub revision: (u32, Option<u32>),
    /// The revisions that update packages install, by the paths of their files.
    pub updates: BTreeMap<String, u32>,
    pub boot: u32,
    pub hostname: String,
    /// The host name after the next boot, if it differs.
    pub next_hostname: Option<String>,
    pub domain: Option<String>,
    pub networks: Vec<HnsNetworkFacts>,
    pub endpoints: Vec<HnsEndpointFacts>,
    pub balancers: Vec<Balancer>,
    pub interfaces: Vec<InterfaceFacts>,
    /// The NICs that HNS networks have captured, as they were before.
    pub captured_nics: Vec<InterfaceFacts>,
    /// The settings of the adapter with the host's address.
    pub adapter: ObservedAdapter,
    pub dynamic_ports: BTreeMap<Protocol, DynamicPortsFacts>,
    pub routes: Vec<RouteEntry>,
    pub forwarding: BTreeSet<u32>,
    /// Images by name.
    pub images: BTreeMap<String, SimImage>,
    /// Containers by their ids.
    pub containers: BTreeMap<String, Container>,
    /// Directories that are layers of containers.
    pub layers: BTreeSet<HostPath>,
    /// Images in registries, by name.
    pub registry: BTreeMap<String, RegistryImage>,
    /// The state that only a Linux host has; `None` for a Windows host.
    pub linux: Option<LinuxWorld>,
}

impl World {
    #[must_use]
    pub fn build(&self) -> u32 {
        self.other_build.unwrap_or(20348)
    }

    #[must_use]
    pub fn product(&self) -> String {
        let year = match self.build() {
            14393 => "2016",
            17763 => "2019",
            20348 => "2022",
            26100 => "2025",
            other => return format!("Windows Server build {other}"),
        };
        format!("Windows Server {year}")
    }

    /// With the revision.
    #[must_use]
    pub fn version(&self) -> String {
        format!("10.0.{}.{}", self.build(), self.revision.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimEntry {
    Directory,
    File(Vec<u8>),
    /// A symbolic link with its target.
    Link(String),
}

/// An optional feature of Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    pub state: WindowsFeatureFacts,
    /// Whether a change takes effect only at the next boot.
    pub needs_boot: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimImage {
    pub id: String,
    /// False for an interrupted pull.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub running: bool,
    /// The writable layer.
    pub layer: Option<HostPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryImage {
    /// The Windows versions that it has variants for.
    pub versions: Vec<String>,
    /// Whether the simulated kernel can run it.
    pub runs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Service {
    /// Set for a service of casement.
    pub definition: Option<ServiceDefinition>,
    /// The command of a service that is not from casement.
    pub command: Option<String>,
    pub display_name: String,
    pub start: StartType,
    pub depends_on: Vec<String>,
    pub state: ServiceState,
    /// Whether it is restarted when its program ends.
    pub recovers: bool,
    /// The program's variables in addition to the machine's; empty while it does not
    /// run.
    pub environment: BTreeMap<String, String>,
}

/// The access descriptors of simulated entries.
pub(super) const WIDE: &str = "everybody";
pub(super) const NARROW: &str = "administrators";
