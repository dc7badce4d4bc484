//! What CNI plugins read.
//!
//! A conflist of the container runtime names a network and a chain of plugins.
//! On Windows its name must be the HNS network's, and the policies of an
//! endpoint come in two dialects: see [`policy`].

use serde::Serialize;

mod calico;
mod linux;
pub mod policy;
mod windows;

pub use calico::Calico;
pub use linux::{Bridge, LinuxRoutes};
pub use policy::{Dialect, EndpointPolicy};
pub use windows::{FlannelDelegate, HostLocal, Plugin, WindowsPods};

/// A conflist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflist<P> {
    /// The version of the specification that the runtime and the plugins speak.
    pub cni_version: &'static str,
    /// The network's name.
    pub name: String,
    /// The plugins, in the order of their calls.
    pub plugins: Vec<P>,
}

/// The version that every containerd speaks.
pub const VERSION: &str = "1.0.0";
/// The version that the kubelet's own Docker support speaks (before 1.24).
pub const DOCKERSHIM_VERSION: &str = "0.3.1";

/// What a plugin wants to be handed by the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The pod's DNS settings; without it, Windows pods get none.
    #[serde(skip_serializing_if = "is_off")]
    pub dns: bool,
    /// The pod's host ports.
    #[serde(skip_serializing_if = "is_off")]
    pub port_mappings: bool,
}

impl Capabilities {
    /// Both.
    pub const ALL: Self = Self {
        dns: true,
        port_mappings: true,
    };
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_off(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
