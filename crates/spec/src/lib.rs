//! What a user may ask for: the types of `cluster.yaml`, with their defaults.
//!
//! A value of these types is valid in itself: a [`HostName`] is a DNS label, a
//! [`Cidr`] has no host bits, an enumeration holds only what is known. What
//! depends on several fields is checked where text becomes a [`Cluster`]. The
//! types carry no positions and read nothing: no text, no file, no host.
//!
//! They serialise to the same document that a person writes, every default
//! filled in. They are not read with serde, because a reader wants all mistakes
//! at once: that is the `source` crate's work.
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

pub use access::{Access, Bastion, HostAccess, HostBastion, Login, Way};
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
pub use network::{
    Backend, InterfaceName, Mtu, Network, NetworkAgent, NetworkMode, NetworkName, Vni, Vxlan,
};
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
