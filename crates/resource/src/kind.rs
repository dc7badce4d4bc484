//! The kinds of resource, one file each, and what is kept of the time before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{HostPath, PackageVersion, RegistryData, Sha256, StartType};

pub(crate) mod adapter;
pub(crate) mod artifact;
pub(crate) mod check;
pub(crate) mod condition;
pub(crate) mod container_store;
pub(crate) mod defender;
pub(crate) mod directory;
pub(crate) mod dynamic_ports;
pub(crate) mod env;
pub(crate) mod feature;
pub(crate) mod file;
pub(crate) mod firewall;
pub(crate) mod forwarding;
pub(crate) mod hns;
pub(crate) mod hostname;
pub(crate) mod image;
pub(crate) mod join;
pub(crate) mod kernel_module;
pub(crate) mod kubeconfig;
pub(crate) mod line;
pub(crate) mod network_link;
pub(crate) mod package;
pub(crate) mod reboot;
pub(crate) mod registry;
pub(crate) mod route;
pub(crate) mod secret_file;
pub(crate) mod service;
pub(crate) mod swap;
pub(crate) mod symlink;
pub(crate) mod sysctl;
pub(crate) mod systemd_unit;
pub(crate) mod time_sync;
pub(crate) mod update;
pub(crate) mod wait;

/// One thing that a host should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Resource {
    /// A folder.
    Directory(directory::Directory),
    /// A file with its bytes.
    File(file::File),
    /// A file with secrets in its text.
    SecretFile(secret_file::SecretFile),
    /// Files out of a blob that is pinned by its hash.
    Artifact(artifact::Artifact),
    /// A machine-wide environment variable.
    Env(env::Env),
    /// A folder on the machine-wide search path.
    PathEntry(env::PathEntry),
    /// A value in the Windows registry.
    RegistryValue(registry::RegistryValue),
    /// A service of the operating system.
    Service(service::Service),
    /// A network of the Host Networking Service.
    HnsNetwork(hns::HnsNetwork),
    /// The host's own endpoint in such a network.
    HnsEndpoint(hns::HnsEndpoint),
    /// The address that kube-proxy uses as source.
    SourceVip(hns::SourceVip),
    /// What the host's adapter is set to.
    AdapterSettings(adapter::AdapterSettings),
    /// A route.
    Route(route::Route),
    /// Forwarding between interfaces.
    Forwarding(forwarding::Forwarding),
    /// What may come in.
    FirewallRule(firewall::FirewallRule),
    /// Ports that the system gives out.
    DynamicPorts(dynamic_ports::DynamicPorts),
    /// What Windows Defender leaves alone.
    DefenderExclusion(defender::DefenderExclusion),
    /// An optional part of Windows.
    WindowsFeature(feature::WindowsFeature),
    /// An update of Windows.
    WindowsUpdate(update::WindowsUpdate),
    /// A reboot, where something waits for one.
    Reboot(reboot::Reboot),
    /// What the host calls itself.
    Hostname(hostname::Hostname),
    /// Where the host's clock is set from.
    TimeSync(time_sync::TimeSync),
    /// An image that is there before a pod asks for it.
    Image(image::Image),
    /// Where containerd keeps everything.
    ContainerStore(container_store::ContainerStore),
    /// A condition with a deadline.
    Wait(wait::Wait),
    /// Membership in a Kubernetes cluster, through kubeadm.
    Join(join::Join),
    /// A kubeconfig that uses the kubelet's own certificate.
    Kubeconfig(kubeconfig::Kubeconfig),
    /// A symbolic link.
    Symlink(symlink::Symlink),
    /// One line in a file.
    Line(line::Line),
    /// A command whose output decides whether another one runs.
    Check(check::Check),
    /// A running value of the Linux kernel.
    Sysctl(sysctl::Sysctl),
    /// A module of the Linux kernel.
    KernelModule(kernel_module::KernelModule),
    /// No swap.
    Swap(swap::SwapOff),
    /// A package of the distribution.
    Package(package::Package),
    /// A unit of systemd that is not casement's own.
    SystemdUnit(systemd_unit::SystemdUnit),
    /// A network link of Linux.
    NetworkLink(network_link::NetworkLink),
}

impl Resource {
    /// Which thing on the host this is about, whatever values it should have:
    /// a step whose identity changes, is another thing under an old name.
    #[must_use]
    pub fn identity(&self) -> String {
        match self {
            Self::Directory(it) => format!("directory {}", it.path),
            Self::File(it) => format!("file {}", it.path),
            // A file to everybody else: one that becomes the other stays in its place.
            Self::SecretFile(it) => format!("file {}", it.path),
            Self::Artifact(it) => format!("artifact {}", it.destination),
            Self::Env(it) => format!("env {}", it.name),
            Self::PathEntry(it) => format!("pathEntry {}", it.path),
            Self::RegistryValue(it) => format!(r"registryValue {}\{}", it.key, it.name),
            Self::Service(it) => format!("service {}", it.definition.name),
            Self::HnsNetwork(it) => format!("hnsNetwork {}", it.name),
            Self::HnsEndpoint(it) => format!("hnsEndpoint {}", it.name),
            Self::SourceVip(it) => format!("sourceVip {}", it.network),
            Self::AdapterSettings(it) => format!("adapterSettings {}", it.address),
            Self::Route(it) => format!("route {}", it.destination),
            Self::Forwarding(it) => format!("forwarding {}", it.interface),
            Self::FirewallRule(it) => format!("firewallRule {}", it.name),
            Self::DynamicPorts(it) => format!("dynamicPorts {}", it.protocol),
            Self::DefenderExclusion(it) => format!("defenderExclusion {}", it.exclusion),
            Self::WindowsFeature(it) => format!("windowsFeature {}", it.name),
            Self::WindowsUpdate(it) => format!("windowsUpdate {}", it.article),
            // Each one waits for what came before it.
            Self::Reboot(it) => format!("reboot {}", it.reason),
            Self::Hostname(_) => "hostname".to_owned(),
            Self::TimeSync(_) => "timeSync".to_owned(),
            Self::Image(it) => format!("image {}", it.name),
            // A folder to everybody else, and one that was a plain one stays.
            Self::ContainerStore(it) => format!("directory {}", it.path),
            Self::Wait(it) => format!("wait {}", it.condition),
            Self::Join(it) => format!("join {}", it.node_name),
            Self::Kubeconfig(it) => format!("kubeconfig {}", it.path),
            Self::Symlink(it) => format!("symlink {}", it.path),
            Self::Line(it) => match &it.prefix {
                Some(prefix) => format!("line {prefix} in {}", it.path),
                None => format!("line {} in {}", it.rest, it.path),
            },
            // Marked, wherever a plan is shown.
            Self::Check(it) => format!("check {} (last resort)", it.name),
            Self::Sysctl(it) => format!("sysctl {}", it.name),
            Self::KernelModule(it) => format!("kernelModule {}", it.name),
            Self::Swap(_) => "swap".to_owned(),
            Self::Package(it) => format!("package {}", it.name),
            Self::SystemdUnit(it) => format!("systemdUnit {}", it.name),
            Self::NetworkLink(it) => format!("networkLink {}", it.name),
        }
    }
}

/// What was there before casement's first change of a resource; written to the
/// host's disk before that change, read again by `remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Prior {
    /// Before a directory or a container store.
    Directory {
        /// It and those of its parents that were absent, outermost first.
        missing: Vec<HostPath>,
        /// Its access, in the platform's own notation, if it was there.
        access: Option<String>,
    },
    /// Before a file, with secrets or without, or a kubeconfig.
    File {
        /// Parents that were absent, outermost first.
        missing: Vec<HostPath>,
        /// What it held.
        saved: Option<SavedFile>,
    },
    /// Before an artifact.
    Artifact {
        /// Folders that were absent, outermost first.
        missing: Vec<HostPath>,
        /// What each target held; none for one that was absent.
        targets: BTreeMap<HostPath, Option<SavedFile>>,
    },
    /// Before an environment variable.
    Env(Option<String>),
    /// Before a registry value.
    RegistryValue {
        /// Keys that were absent, outermost first.
        missing_keys: Vec<String>,
        /// The value, if there was one.
        data: Option<RegistryData>,
    },
    /// Before a Defender exclusion.
    DefenderExclusion {
        /// Keys that were absent, outermost first.
        missing_keys: Vec<String>,
        /// The switch of the list that the exclusion is in.
        switch: Option<RegistryData>,
        /// The exclusion's own entry, if there was one.
        entry: Option<RegistryData>,
    },
    /// Before a service: the platform's own description of the one that was
    /// there under that name.
    Service(Option<serde_json::Value>),
    /// Before a firewall rule: the platform's own descriptions of those that
    /// were there under that name.
    FirewallRule(Vec<serde_json::Value>),
    /// Before a feature of Windows: whether it was there.
    WindowsFeature(bool),
    /// Before the host's name: the name that it had.
    Hostname(String),
    /// Before the source of the host's time.
    TimeSync {
        /// Keys that were absent, outermost first.
        missing_keys: Vec<String>,
        /// The servers.
        servers: Option<RegistryData>,
        /// The kind of source.
        source: Option<RegistryData>,
        /// When the service started.
        start: StartType,
        /// Whether it ran.
        running: bool,
    },
    /// Before a reboot: the number of the boot that ends with it.
    Reboot(u32),
    /// Before dynamic ports: the range.
    DynamicPorts(dynamic_ports::DynamicPortsFacts),
    /// Before a switch took the adapter: what it was set to.
    AdapterSettings(adapter::AdapterSeen),
    /// Before forwarding: whether it was on.
    Forwarding(bool),
    /// Before an image: its names, each with whether it was there.
    Image(BTreeMap<String, bool>),
    /// Before a join: those of kubeadm's files that were there already.
    Join(Vec<HostPath>),
    /// Before a symbolic link.
    Symlink {
        /// Parents that were absent, outermost first.
        missing: Vec<HostPath>,
        /// What it said, if it was there.
        target: Option<String>,
    },
    /// Before a line in a file.
    Line {
        /// Parents that were absent, outermost first.
        missing: Vec<HostPath>,
        /// Whether the file was there.
        file: bool,
        /// The line that was replaced, if one was.
        line: Option<String>,
    },
    /// Before a running value of the kernel: what it was.
    Sysctl(String),
    /// Before a kernel module: whether it was loaded.
    KernelModule(bool),
    /// Before swap was switched off: what was in use.
    Swap(Vec<swap::SwapArea>),
    /// Before a package: the version that was installed.
    Package(Option<PackageVersion>),
    /// Before a unit: what it was, if it was there.
    SystemdUnit(Option<systemd_unit::UnitSeen>),
    /// Before a network link: what it was, if it was there.
    NetworkLink(Option<network_link::LinkSeen>),
    /// There was nothing (path entry, route, HNS objects), or there is nothing
    /// to restore (wait, check).
    Nothing,
}

/// A file as it was; its bytes lie in the host's state folder under their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedFile {
    /// The hash of its bytes.
    pub sha256: Sha256,
    /// How many bytes.
    pub size: u64,
    /// Its access, in the platform's own notation.
    pub access: String,
}
