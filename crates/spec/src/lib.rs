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
mod cidr;
mod cluster;
pub mod defaults;
mod files;
mod host;
mod invalid;
mod label;
mod name;
mod named;
mod program;
mod registry;
mod version;
mod windows_path;

pub use access::{Access, HostAccess, HostSsh, Login, SecretRef, Ssh};
pub use cidr::Cidr;
pub use cluster::{
    API_VERSION, Artifacts, Cluster, ClusterSpec, Existing, Images, KIND, Kubernetes, Metadata,
    Network, NetworkMode, Windows,
};
pub use files::{NoHome, expand};
pub use host::{Host, HostOs, OsFamily, Role};
pub use invalid::Invalid;
pub use label::{LabelKey, LabelValue, Taint, TaintEffect};
pub use name::{ClusterName, HostName};
pub use named::Named;
pub use program::Program;
pub use registry::Registry;
pub use version::KubernetesVersion;
pub use windows_path::WindowsPath;
