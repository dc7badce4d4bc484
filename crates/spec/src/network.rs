//! How pods reach each other.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::named::named;
use crate::text::{checked_text, line_fault};
use crate::{Invalid, defaults};

named! {
    /// How pods on different hosts reach each other.
    pub enum NetworkMode {
        /// VXLAN by flannel.
        FlannelOverlay = "flannel-overlay",
        /// Routes made by flannel.
        FlannelHostGw = "flannel-host-gw",
        /// Routes made by casement; no daemon.
        L3Routes = "l3-routes",
        /// VXLAN by Calico.
        CalicoVxlan = "calico-vxlan",
    }
}

impl NetworkMode {
    /// Whether pods travel in VXLAN, so that there are a VNI and a port.
    pub fn is_vxlan(self) -> bool {
        matches!(self, Self::FlannelOverlay | Self::CalicoVxlan)
    }

    /// Whether a daemon that speaks flannel's contract runs on each node.
    pub fn is_flannel(self) -> bool {
        matches!(self, Self::FlannelOverlay | Self::FlannelHostGw)
    }
}

named! {
    /// Whose daemon keeps flannel's contract on Windows nodes.
    pub enum NetworkAgent {
        /// The upstream flanneld.
        Flannel = "flannel",
        /// casement's own.
        Casement = "casement",
    }
}

/// The number of a VXLAN network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Vni(u32);

impl Vni {
    /// The largest: the field has 24 bits.
    pub const MOST: u32 = (1 << 24) - 1;

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Vni {
    type Error = Invalid;

    fn try_from(number: u32) -> Result<Self, Invalid> {
        if (1..=Self::MOST).contains(&number) {
            return Ok(Self(number));
        }
        let reason = format!("it lies between 1 and {}", Self::MOST);
        Err(Invalid::new("VNI", &number.to_string(), reason))
    }
}

/// The largest packet that pods send, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Mtu(u16);

impl Mtu {
    /// The least that every IPv4 host takes.
    pub const LEAST: u16 = 576;

    /// The number of bytes.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u32> for Mtu {
    type Error = Invalid;

    fn try_from(number: u32) -> Result<Self, Invalid> {
        match u16::try_from(number) {
            Ok(bytes @ Self::LEAST..) => Ok(Self(bytes)),
            _ => {
                let reason = "it lies between 576 and 65535";
                Err(Invalid::new("MTU", &number.to_string(), reason))
            }
        }
    }
}

checked_text! {
    /// What a network is called by HNS or by CNI.
    pub struct NetworkName("name of a network", network_name_fault);
}

checked_text! {
    /// What a host calls a network interface: `eth0`, `Ethernet 2`.
    pub struct InterfaceName("name of an interface", interface_fault);
}

fn network_name_fault(text: &str) -> Option<String> {
    if let Some(fault) = line_fault(text, 63) {
        return Some(fault);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let other = text.chars().find(|c| !allowed(*c))?;
    Some(format!(
        "`{other}` is not allowed, only letters, digits, `-`, `_` and `.` are"
    ))
}

fn interface_fault(text: &str) -> Option<String> {
    line_fault(text, 256)
}

/// Where VXLAN packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vxlan {
    /// The network's number.
    pub vni: Vni,
    /// The UDP port.
    pub port: u16,
}

impl Default for Vxlan {
    fn default() -> Self {
        Self {
            vni: defaults::vni(),
            port: defaults::VXLAN_PORT,
        }
    }
}

/// The mode with what only it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Backend {
    /// VXLAN by flannel.
    FlannelOverlay {
        /// Whose daemon.
        agent: NetworkAgent,
        /// Where packets go.
        #[serde(flatten)]
        vxlan: Vxlan,
    },
    /// Routes made by flannel.
    FlannelHostGw {
        /// Whose daemon.
        agent: NetworkAgent,
    },
    /// Routes made by casement.
    L3Routes,
    /// VXLAN by Calico.
    CalicoVxlan {
        /// Where packets go.
        #[serde(flatten)]
        vxlan: Vxlan,
    },
}

impl Backend {
    /// The mode with its defaults.
    pub fn of(mode: NetworkMode) -> Self {
        let (agent, vxlan) = (NetworkAgent::Flannel, Vxlan::default());
        match mode {
            NetworkMode::FlannelOverlay => Self::FlannelOverlay { agent, vxlan },
            NetworkMode::FlannelHostGw => Self::FlannelHostGw { agent },
            NetworkMode::L3Routes => Self::L3Routes,
            NetworkMode::CalicoVxlan => Self::CalicoVxlan { vxlan },
        }
    }

    /// The mode alone.
    pub fn mode(self) -> NetworkMode {
        match self {
            Self::FlannelOverlay { .. } => NetworkMode::FlannelOverlay,
            Self::FlannelHostGw { .. } => NetworkMode::FlannelHostGw,
            Self::L3Routes => NetworkMode::L3Routes,
            Self::CalicoVxlan { .. } => NetworkMode::CalicoVxlan,
        }
    }

    /// Where packets go, in a mode that has VXLAN.
    pub fn vxlan(self) -> Option<Vxlan> {
        match self {
            Self::FlannelOverlay { vxlan, .. } | Self::CalicoVxlan { vxlan } => Some(vxlan),
            Self::FlannelHostGw { .. } | Self::L3Routes => None,
        }
    }

    /// Whose daemon, in a mode that has flannel's.
    pub fn agent(self) -> Option<NetworkAgent> {
        match self {
            Self::FlannelOverlay { agent, .. } | Self::FlannelHostGw { agent } => Some(agent),
            Self::L3Routes | Self::CalicoVxlan { .. } => None,
        }
    }
}

/// How pods reach each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// By what means, and what only those have.
    #[serde(flatten)]
    pub backend: Backend,
    /// What the network is called on Windows.
    pub hns_network: NetworkName,
    /// What it is called in CNI on Linux.
    pub cni_name: NetworkName,
    /// The largest packet of pods; `None` where the hosts' own decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// The interface that carries it; `None` for the one with the host's
    /// address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceName>,
}

impl Network {
    /// A mode with nothing else said.
    pub fn of(mode: NetworkMode) -> Self {
        let backend = Backend::of(mode);
        Self {
            backend,
            hns_network: defaults::hns_network(backend),
            cni_name: defaults::cni_name(),
            mtu: None,
            interface: None,
        }
    }

    /// The mode alone.
    pub fn mode(&self) -> NetworkMode {
        self.backend.mode()
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Vni {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.parse::<u32>();
        let number = number.map_err(|_| Invalid::new("VNI", text, "it is no number"))?;
        Self::try_from(number)
    }
}

impl FromStr for Mtu {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.parse::<u32>();
        let number = number.map_err(|_| Invalid::new("MTU", text, "it is no number"))?;
        Self::try_from(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    #[test]
    fn only_vxlan_has_a_number_and_only_flannel_a_daemon() {
        for mode in NetworkMode::ALL {
            let backend = Backend::of(*mode);
            assert_eq!(backend.mode(), *mode);
            assert_eq!(backend.vxlan().is_some(), mode.is_vxlan());
            assert_eq!(backend.agent().is_some(), mode.is_flannel());
        }
    }

    #[test]
    fn the_windows_network_is_called_after_its_mode() {
        let name = |mode| Network::of(mode).hns_network.to_string();
        assert_eq!(name(NetworkMode::FlannelOverlay), "flannel.4096");
        assert_eq!(name(NetworkMode::FlannelHostGw), "cbr0");
        assert_eq!(name(NetworkMode::L3Routes), "cbr0");
        assert_eq!(name(NetworkMode::CalicoVxlan), "Calico");
    }

    #[test]
    fn numbers_have_bounds() {
        assert!("0".parse::<Vni>().is_err() && "1".parse::<Vni>().is_ok());
        assert!("16777216".parse::<Vni>().is_err());
        assert!("575".parse::<Mtu>().is_err() && "65536".parse::<Mtu>().is_err());
    }
}
