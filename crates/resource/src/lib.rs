//! The desired state of a host.
//!
//! A [`NodeDocument`] is a list of [`Step`]s, each a typed [`Resource`] with an id and
//! its dependencies. Every kind has facts (the observed state), a pure `diff` from
//! facts to [`Change`]s, and the [`Prior`] state that is saved so that a removal
//! restores it. [`wire`] is the protocol between the controller and the agent.
//!
//! Nothing here accesses a host: the agent observes and changes, this crate only
//! compares.
//!
//! ```
//! use casement_resource::{Diff, DirectoryFacts, Directory, Access};
//!
//! let directory = Directory { path: r"C:\k".parse().unwrap(), access: Access::Inherited };
//! assert!(matches!(directory.diff(&DirectoryFacts::Absent), Diff::Changes(_)));
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod host_paths;
pub mod service_names;
pub mod step_ids;
pub mod wire;

mod blob;
mod diff;
mod document;
mod failure;
mod kind;
mod mode;
mod name;
mod path;
mod secret;
mod sha256;
mod web_address;

pub use blob::Blob;
pub use diff::{Change, Diff};
pub use document::{DocumentError, NodeDocument, Repair, Stage, Step};
pub use failure::{Code, Failure};
pub use kind::adapter::{AdapterSettings, AdapterSettingsFacts, ObservedAdapter};
pub use kind::artifact::{
    Artifact, ArtifactFacts, ArtifactFormat, Member, MemberFacts, MemberFound, UnpackLimits,
};
pub use kind::check::{Answer, Check, CheckFacts, Command};
pub use kind::condition::{Condition, ConditionFacts};
pub use kind::container_store::ContainerStore;
pub use kind::defender::{DefenderExclusion, DefenderFacts, Exclusion};
pub use kind::directory::{Access, AccessFacts, Directory, DirectoryFacts};
pub use kind::dynamic_ports::{DynamicPorts, DynamicPortsFacts};
pub use kind::env::{Env, EnvFacts, PathEntry, PathEntryFacts};
pub use kind::feature::{WindowsFeature, WindowsFeatureFacts};
pub use kind::file::{Content, File, FileFacts};
pub use kind::firewall::{FirewallRule, FirewallRuleFacts, Protocol};
pub use kind::forwarding::{Forwarding, ForwardingFacts, InterfaceRef};
pub use kind::hns::{
    HnsEndpoint, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsNetworkType, HnsSubnet,
    SourceVip,
};
pub use kind::hostname::{Hostname, HostnameFacts};
pub use kind::image::{Image, ImageFacts, ImageSource, ImageStore, WindowsVersion};
pub use kind::join::{Effect, Join, JoinFacts, KubeadmApi, Patch, Taint};
pub use kind::kernel_module::{KernelModule, KernelModuleFacts};
pub use kind::kubeconfig::Kubeconfig;
pub use kind::line::{Line, LineFacts, LineFound};
pub use kind::network_link::{LinkType, NetworkLink, NetworkLinkFacts, ObservedLink};
pub use kind::package::{Package, PackageFacts, PackageState};
pub use kind::reboot::{PendingChange, Reboot, RebootFacts};
pub use kind::registry::{RegistryData, RegistryFacts, RegistryValue};
pub use kind::route::{Route, RouteEntry, RouteFacts};
pub use kind::secret_file::{
    SecretFile, SecretFileFacts, SecretFileRecord, TextPart, percent_encode,
};
pub use kind::service::{
    ObservedService, RESTART_FIRST_SECONDS, RESTART_LONGEST_SECONDS, Run, Service,
    ServiceDefinition, ServiceFacts, ServiceState, StartType,
};
pub use kind::swap::{SwapArea, SwapFacts, SwapOff};
pub use kind::symlink::{Symlink, SymlinkFacts};
pub use kind::sysctl::{Sysctl, SysctlFacts, SysctlName};
pub use kind::systemd_unit::{Enablement, ObservedUnit, SystemdUnit, SystemdUnitFacts, UnitState};
pub use kind::time_sync::{NTP, TimeSync, TimeSyncFacts};
pub use kind::update::{UpdateFloor, UpdateInstalled, WindowsUpdate, WindowsUpdateFacts};
pub use kind::wait::Wait;
pub use kind::{Prior, Resource, SavedFile};
pub use mode::{Mode, ModeError};
pub use name::{
    LineText, LinkName, ModuleName, NameError, PackageName, PackageVersion, ResourceId, RunId,
    SecretName, UnitName,
};
pub use path::{HostPath, PathError};
pub use secret::Secret;
pub use sha256::{Sha256, Sha256Error};
pub use web_address::{InvalidWebAddress, WebAccount, WebAddress, without_password};
