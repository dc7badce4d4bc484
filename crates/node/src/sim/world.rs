//! What a simulated host consists of.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    AdapterSeen, DynamicPortsFacts, FirewallRuleFacts, HnsEndpointFacts, HnsNetworkFacts, HostPath,
    Protocol, RegistryData, RouteEntry, ServiceDefinition, ServiceState, StartType,
    WindowsFeatureFacts,
};

use super::linux::LinuxWorld;
use crate::platform::Balancer;

/// Everything that can be seen on a simulated host; two hosts are the same if
/// their worlds are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    /// What has a name in the file system, with its access.
    pub entries: BTreeMap<HostPath, (Thing, String)>,
    /// Machine-wide variables.
    pub variables: BTreeMap<String, String>,
    /// The search path.
    pub search_path: Vec<String>,
    /// Registry keys.
    pub keys: BTreeSet<String>,
    /// Registry values by key and name.
    pub values: BTreeMap<(String, String), RegistryData>,
    /// Services by lower-case name.
    pub services: BTreeMap<String, Service>,
    /// Firewall rules by lower-case name.
    pub firewall: BTreeMap<String, Vec<FirewallRuleFacts>>,
    /// Features by lower-case name.
    pub features: BTreeMap<String, Feature>,
    /// The feature, in lower case, that a boot does not put in its place.
    pub stuck: Option<String>,
    /// The build of its Windows, if that is not Windows Server 2022's.
    pub other_build: Option<u32>,
    /// The revision of its Windows, and the one after the next boot.
    pub revision: (u32, Option<u32>),
    /// The revisions that update packages bring, by the paths of their files.
    pub updates: BTreeMap<String, u32>,
    /// How often it was booted.
    pub boot: u32,
    /// Its name.
    pub hostname: String,
    /// Its name after the next boot, if that is another one.
    pub next_hostname: Option<String>,
    /// The domain that it is a member of.
    pub domain: Option<String>,
    /// HNS networks.
    pub networks: Vec<HnsNetworkFacts>,
    /// HNS endpoints.
    pub endpoints: Vec<HnsEndpointFacts>,
    /// Load balancers of HNS.
    pub balancers: Vec<Balancer>,
    /// Interfaces.
    pub interfaces: Vec<InterfaceFacts>,
    /// The cards that HNS networks have taken, as they were.
    pub taken: Vec<InterfaceFacts>,
    /// What the adapter with the host's address is set to.
    pub adapter: AdapterSeen,
    /// The ports that are given out.
    pub dynamic_ports: BTreeMap<Protocol, DynamicPortsFacts>,
    /// Routes.
    pub routes: Vec<RouteEntry>,
    /// Interfaces that forward.
    pub forwarding: BTreeSet<u32>,
    /// Images by name.
    pub images: BTreeMap<String, SimImage>,
    /// Containers by their ids.
    pub containers: BTreeMap<String, Container>,
    /// Folders that are layers of containers.
    pub layers: BTreeSet<HostPath>,
    /// What registries have, by name.
    pub registry: BTreeMap<String, RegistryImage>,
    /// What only a Linux host has; none makes it a Windows host.
    pub linux: Option<LinuxWorld>,
}

impl World {
    /// The build of its Windows.
    #[must_use]
    pub fn build(&self) -> u32 {
        self.other_build.unwrap_or(20348)
    }

    /// The name of its Windows.
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

    /// The version of its Windows, with the revision.
    #[must_use]
    pub fn version(&self) -> String {
        format!("10.0.{}.{}", self.build(), self.revision.0)
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// A folder.
    Directory,
    /// A file with its bytes.
    File(Vec<u8>),
    /// A symbolic link, and what it says.
    Link(String),
}

/// An optional part of a simulated Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Whether it is there.
    pub state: WindowsFeatureFacts,
    /// Whether switching it takes effect at the next boot only.
    pub needs_boot: bool,
}

/// An image on a simulated host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimImage {
    /// What its name stands for.
    pub id: String,
    /// Whether all of it is there.
    pub whole: bool,
}

/// A container on a simulated host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Whether its task runs.
    pub running: bool,
    /// The folder that it writes to.
    pub layer: Option<HostPath>,
}

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryImage {
    /// The versions of Windows that it is made for.
    pub versions: Vec<String>,
    /// Whether the simulated kernel carries it.
    pub runs: bool,
}

/// A service of a simulated host.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Service {
    /// What casement defined.
    pub definition: Option<ServiceDefinition>,
    /// The command of one that casement did not make.
    pub command: Option<String>,
    /// Its name to people.
    pub display_name: String,
    /// When it starts.
    pub start: StartType,
    /// What it depends on.
    pub depends_on: Vec<String>,
    /// What it does.
    pub state: ServiceState,
    /// Whether it is started again when its program ends.
    pub recovers: bool,
    /// What its program was given beside the machine's own variables; none while
    /// it does not run.
    pub given: BTreeMap<String, String>,
}

/// The access of what is wide open, and of what is narrow.
pub(super) const WIDE: &str = "everybody";
pub(super) const NARROW: &str = "administrators";
