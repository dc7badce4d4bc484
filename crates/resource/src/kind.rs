//! The kinds of resource, one file each, and the prior state that is saved.

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

/// One item of a host's desired state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Resource {
    Directory(directory::Directory),
    File(file::File),
    /// A file whose text contains secrets.
    SecretFile(secret_file::SecretFile),
    /// Files from a blob that is pinned by its hash.
    Artifact(artifact::Artifact),
    Env(env::Env),
    /// A folder on the machine-wide search path.
    PathEntry(env::PathEntry),
    RegistryValue(registry::RegistryValue),
    /// An operating system service.
    Service(service::Service),
    /// A Host Networking Service network.
    HnsNetwork(hns::HnsNetwork),
    /// The host's own endpoint in such a network.
    HnsEndpoint(hns::HnsEndpoint),
    /// The address that kube-proxy uses as source.
    SourceVip(hns::SourceVip),
    /// The settings of the host's adapter.
    AdapterSettings(adapter::AdapterSettings),
    Route(route::Route),
    /// Forwarding between interfaces.
    Forwarding(forwarding::Forwarding),
    /// An inbound firewall rule.
    FirewallRule(firewall::FirewallRule),
    /// The dynamic port range.
    DynamicPorts(dynamic_ports::DynamicPorts),
    /// A Windows Defender exclusion.
    DefenderExclusion(defender::DefenderExclusion),
    WindowsFeature(feature::WindowsFeature),
    WindowsUpdate(update::WindowsUpdate),
    /// A reboot, if a change is pending.
    Reboot(reboot::Reboot),
    /// The host name.
    Hostname(hostname::Hostname),
    /// The host's time servers.
    TimeSync(time_sync::TimeSync),
    /// An image that is pulled in advance.
    Image(image::Image),
    /// containerd's data folder.
    ContainerStore(container_store::ContainerStore),
    /// A condition with a deadline.
    Wait(wait::Wait),
    /// Membership in a Kubernetes cluster, through kubeadm.
    Join(join::Join),
    /// A kubeconfig that uses the kubelet's own certificate.
    Kubeconfig(kubeconfig::Kubeconfig),
    Symlink(symlink::Symlink),
    Line(line::Line),
    /// A command whose output decides whether another one runs.
    Check(check::Check),
    /// A running Linux kernel parameter.
    Sysctl(sysctl::Sysctl),
    /// A Linux kernel module.
    KernelModule(kernel_module::KernelModule),
    Swap(swap::SwapOff),
    /// A distribution package.
    Package(package::Package),
    /// A systemd unit that casement did not create.
    SystemdUnit(systemd_unit::SystemdUnit),
    /// A Linux network link.
    NetworkLink(network_link::NetworkLink),
}

impl Resource {
    /// The object on the host, independent of its desired values: a step whose identity
    /// changes manages another object.
    #[must_use]
    pub fn identity(&self) -> String {
        match self {
            Self::Directory(it) => format!("directory {}", it.path),
            Self::File(it) => format!("file {}", it.path),
            // Same identity as a file, so that one can become the other in place.
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
            // Several reboots are possible, for different reasons.
            Self::Reboot(it) => format!("reboot {}", it.reason),
            Self::Hostname(_) => "hostname".to_owned(),
            Self::TimeSync(_) => "timeSync".to_owned(),
            Self::Image(it) => format!("image {}", it.name),
            // Same identity as a directory, so that one can become the other in place.
            Self::ContainerStore(it) => format!("directory {}", it.path),
            Self::Wait(it) => format!("wait {}", it.condition),
            Self::Join(it) => format!("join {}", it.node_name),
            Self::Kubeconfig(it) => format!("kubeconfig {}", it.path),
            Self::Symlink(it) => format!("symlink {}", it.path),
            Self::Line(it) => match &it.prefix {
                Some(prefix) => format!("line {prefix} in {}", it.path),
                None => format!("line {} in {}", it.rest, it.path),
            },
            // Marked in every plan.
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

/// The state before casement's first change of a resource; saved on the host before
/// that change, and restored by `remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Prior {
    /// For a directory or a container store.
    Directory {
        /// The folder and its parents that were missing, outermost first.
        missing: Vec<HostPath>,
        /// The prior access in platform notation, if it existed.
        access: Option<String>,
    },
    /// For a file, secret file or kubeconfig.
    File {
        /// Parent folders that were missing, outermost first.
        missing: Vec<HostPath>,
        saved: Option<SavedFile>,
    },
    Artifact {
        /// Folders that were missing, outermost first.
        missing: Vec<HostPath>,
        /// The prior file of each target; none if it was missing.
        targets: BTreeMap<HostPath, Option<SavedFile>>,
    },
    Env(Option<String>),
    RegistryValue {
        /// Keys that were missing, outermost first.
        missing_keys: Vec<String>,
        /// The value, if there was one.
        data: Option<RegistryData>,
    },
    DefenderExclusion {
        /// Keys that were missing, outermost first.
        missing_keys: Vec<String>,
        /// The switch of the list that the exclusion is in.
        switch: Option<RegistryData>,
        /// The exclusion's entry, if it existed.
        entry: Option<RegistryData>,
    },
    /// The prior service with that name, in platform notation.
    Service(Option<serde_json::Value>),
    /// The prior rules with that name, in platform notation.
    FirewallRule(Vec<serde_json::Value>),
    /// Whether the Windows feature was on.
    WindowsFeature(bool),
    /// The prior host name.
    Hostname(String),
    /// For `timeSync`.
    TimeSync {
        /// Keys that were missing, outermost first.
        missing_keys: Vec<String>,
        servers: Option<RegistryData>,
        source: Option<RegistryData>,
        start: StartType,
        running: bool,
    },
    /// The number of the boot before the reboot.
    Reboot(u32),
    /// The prior range.
    DynamicPorts(dynamic_ports::DynamicPortsFacts),
    /// The adapter's settings before a virtual switch used it.
    AdapterSettings(adapter::ObservedAdapter),
    /// Whether forwarding was on.
    Forwarding(bool),
    /// For each name, whether the image existed.
    Image(BTreeMap<String, bool>),
    /// kubeadm's files that existed before the join.
    Join(Vec<HostPath>),
    Symlink {
        /// Parent folders that were missing, outermost first.
        missing: Vec<HostPath>,
        /// The prior target, if it existed.
        target: Option<String>,
    },
    Line {
        /// Parent folders that were missing, outermost first.
        missing: Vec<HostPath>,
        file: bool,
        /// The line that was replaced, if one was.
        line: Option<String>,
    },
    /// The prior kernel parameter value.
    Sysctl(String),
    /// Whether the kernel module was loaded.
    KernelModule(bool),
    /// The swap areas that were in use.
    Swap(Vec<swap::SwapArea>),
    /// The version that was installed.
    Package(Option<PackageVersion>),
    /// The prior unit state, if the unit existed.
    SystemdUnit(Option<systemd_unit::ObservedUnit>),
    /// The prior link, if it existed.
    NetworkLink(Option<network_link::ObservedLink>),
    /// Nothing existed (path entry, route, HNS objects), or nothing can be restored
    /// (wait, check).
    Nothing,
}

/// The prior file; its bytes are in the host's state folder under their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedFile {
    /// The hash of its bytes.
    pub sha256: Sha256,
    pub size: u64,
    /// In platform notation.
    pub access: String,
}
