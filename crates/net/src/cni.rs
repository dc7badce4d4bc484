//! CNI configuration.
//!
//! A conflist names a network and a chain of plugins. On Windows the name must be
//! that of the HNS network, and endpoint policies have two formats: see [`policy`].

use serde::Serialize;

mod calico;
mod linux;
pub mod policy;
mod windows;

pub use calico::Calico;
pub use linux::{Bridge, LinuxRoutes};
pub use policy::{Dialect, EndpointPolicy};
pub use windows::{FlannelDelegate, HostLocal, Plugin, WindowsPods};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflist<P> {
    /// The version of the CNI specification.
    pub cni_version: &'static str,
    pub name: String,
    pub plugins: Vec<P>,
}

/// Supported by every containerd.
pub const VERSION: &str = "1.0.0";
/// Supported by dockershim (before 1.24).
pub const DOCKERSHIM_VERSION: &str = "0.3.1";

/// What the runtime passes to a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// DNS settings; without it, Windows pods get none.
    #[serde(skip_serializing_if = "is_off")]
    pub dns: bool,
    #[serde(skip_serializing_if = "is_off")]
    pub port_mappings: bool,
}

impl Capabilities {
    pub const ALL: Self = Self {
        dns: true,
        port_mappings: true,
    };
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_off(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
