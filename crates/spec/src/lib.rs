//! The types of `cluster.yaml` and their defaults.
//!
//! Values are valid by construction: a [`HostName`] is a DNS label, a [`Cidr`] has
//! no host bits. Rules across fields are checked by the `source` crate, which parses
//! the file into a [`Cluster`]. The types have no source positions and do no I/O.
//!
//! They serialize to a complete cluster document with all defaults. They do not
//! implement `Deserialize`, because `source` reports all errors at once.
//!
//! ```
//! use casement_spec::{HostName, HostOs, Named};
//!
//! let name: HostName = "windows01".parse()?;
//! assert_eq!(name.as_str(), "windows01");
//! assert!("Windows_01".parse::<HostName>().is_err());
//! assert_eq!(HostOs::from_name("windows-2022"), Some(HostOs::Windows2022));
//! # Ok::<(), casement_spec::Invalid>(())
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod access;
mod address;
mod artifacts;
mod cidr;
mod cluster;
pub mod defaults;
mod files;
mod host;
pub mod host_process;
mod images;
mod invalid;
mod kubernetes;
mod label;
mod machines;
mod name;
mod named;
mod network;
mod network_mode;
mod os;
mod program;
mod proxy;
mod registry;
mod runtime;
mod secret;
mod ssh;
mod text;
mod version;
mod windows;
mod windows_path;
mod winrm;

pub use access::{Access, AccessMethod, Bastion, HostAccess, HostBastion, Login};
pub use address::{DomainName, Endpoint, HostAddress, Url};
pub use artifacts::Artifacts;
pub use cidr::{Cidr, Cidr6, Cidrs};
pub use cluster::{API_VERSION, Cluster, ClusterSpec, KIND, Metadata};
pub use files::{NoHome, expand};
pub use host::{FlagName, FlagValue, Host, HostFolder, LinuxPath, Role};
pub use images::{ImageRef, ImageVerify, Images};
pub use invalid::Invalid;
pub use kubernetes::{CidrAllocation, Existing, FeatureGate, Join, JoinMethod, Kubernetes};
pub use label::{LabelKey, LabelValue, Taint, TaintEffect};
pub use machines::{
    Azure, AzureName, ByteSize, HyperV, Hypervisor, Libvirt, MachineGroup, MachineSize, Machines,
};
pub use name::{ClusterName, HostName};
pub use named::Named;
pub use network::{Backend, InterfaceName, Mtu, Network, NetworkAgent, NetworkName, Vni, Vxlan};
pub use network_mode::NetworkMode;
pub use os::{HostOs, OsFamily};
pub use program::Program;
pub use proxy::{NoProxy, Proxy};
pub use registry::Registry;
pub use runtime::{ProgramVersion, Runtime, RuntimeKind};
pub use secret::{Account, SecretRef};
pub use ssh::{HostSsh, Ssh, SshCredential, SshName, Sudo};
pub use version::KubernetesVersion;
pub use windows::{
    DefenderPolicy, RebootPolicy, RepairPolicy, Windows, WindowsComponents, WindowsUpdate,
};
pub use windows_path::WindowsPath;
pub use winrm::{Fingerprint, HostWinRm, WinRm, WinRmAuth, WinRmTransport};
