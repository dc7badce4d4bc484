//! The pod network.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::named::named;
use crate::network_mode::NetworkMode;
use crate::text::{checked_text, line_error};
use crate::{Invalid, defaults};

named! {
    /// The daemon that runs on Windows nodes in the flannel modes.
    pub enum NetworkAgent {
        Flannel = "flannel",
        Casement = "casement",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Vni(u32);

impl Vni {
    /// 24 bits.
    pub const MAX: u32 = (1 << 24) - 1;

    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Vni {
    type Error = Invalid;

    fn try_from(number: u32) -> Result<Self, Invalid> {
        if (1..=Self::MAX).contains(&number) {
            return Ok(Self(number));
        }
        let reason = format!("it must be between 1 and {}", Self::MAX);
        Err(Invalid::new("VNI", &number.to_string(), reason))
    }
}

/// In bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Mtu(u16);

impl Mtu {
    /// The minimum that every IPv4 host supports.
    pub const MIN: u16 = 576;

    pub fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u32> for Mtu {
    type Error = Invalid;

    fn try_from(number: u32) -> Result<Self, Invalid> {
        match u16::try_from(number) {
            Ok(bytes @ Self::MIN..) => Ok(Self(bytes)),
            _ => {
                let reason = "it must be between 576 and 65535";
                Err(Invalid::new("MTU", &number.to_string(), reason))
            }
        }
    }
}

checked_text! {
    pub struct NetworkName("network name", network_name_error);
}

checked_text! {
    pub struct InterfaceName("interface name", interface_error);
}

fn network_name_error(text: &str) -> Option<String> {
    if let Some(error) = line_error(text, 63) {
        return Some(error);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let other = text.chars().find(|c| !allowed(*c))?;
    Some(format!(
        "`{other}` is not allowed, only letters, digits, `-`, `_` and `.`"
    ))
}

fn interface_error(text: &str) -> Option<String> {
    line_error(text, 256)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vxlan {
    pub vni: Vni,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Backend {
    FlannelOverlay {
        agent: NetworkAgent,
        #[serde(flatten)]
        vxlan: Vxlan,
    },
    FlannelHostGw {
        agent: NetworkAgent,
    },
    L3Routes,
    CalicoVxlan {
        #[serde(flatten)]
        vxlan: Vxlan,
    },
}

impl Backend {
    pub fn of(mode: NetworkMode) -> Self {
        let (agent, vxlan) = (NetworkAgent::Flannel, Vxlan::default());
        match mode {
            NetworkMode::FlannelOverlay => Self::FlannelOverlay { agent, vxlan },
            NetworkMode::FlannelHostGw => Self::FlannelHostGw { agent },
            NetworkMode::L3Routes => Self::L3Routes,
            NetworkMode::CalicoVxlan => Self::CalicoVxlan { vxlan },
        }
    }

    pub fn mode(self) -> NetworkMode {
        match self {
            Self::FlannelOverlay { .. } => NetworkMode::FlannelOverlay,
            Self::FlannelHostGw { .. } => NetworkMode::FlannelHostGw,
            Self::L3Routes => NetworkMode::L3Routes,
            Self::CalicoVxlan { .. } => NetworkMode::CalicoVxlan,
        }
    }

    pub fn vxlan(self) -> Option<Vxlan> {
        match self {
            Self::FlannelOverlay { vxlan, .. } | Self::CalicoVxlan { vxlan } => Some(vxlan),
            Self::FlannelHostGw { .. } | Self::L3Routes => None,
        }
    }

    pub fn agent(self) -> Option<NetworkAgent> {
        match self {
            Self::FlannelOverlay { agent, .. } | Self::FlannelHostGw { agent } => Some(agent),
            Self::L3Routes | Self::CalicoVxlan { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    #[serde(flatten)]
    pub backend: Backend,
    pub hns_network: NetworkName,
    pub cni_name: NetworkName,
    /// `None`: derived from the MTU of the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// `None`: the interface with the address of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceName>,
}

impl Network {
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
        let number = number.map_err(|_| Invalid::new("VNI", text, "it is not a number"))?;
        Self::try_from(number)
    }
}

impl FromStr for Mtu {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.parse::<u32>();
        let number = number.map_err(|_| Invalid::new("MTU", text, "it is not a number"))?;
        Self::try_from(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    #[test]
    fn only_vxlan_has_a_vni_and_only_flannel_an_agent() {
        for mode in NetworkMode::ALL {
            let backend = Backend::of(*mode);
            assert_eq!(backend.mode(), *mode);
            assert_eq!(backend.vxlan().is_some(), mode.is_vxlan());
            assert_eq!(backend.agent().is_some(), mode.is_flannel());
        }
    }

    #[test]
    fn hns_network_name_depends_on_the_mode() {
        let name = |mode| Network::of(mode).hns_network.to_string();
        assert_eq!(name(NetworkMode::FlannelOverlay), "flannel.4096");
        assert_eq!(name(NetworkMode::FlannelHostGw), "cbr0");
        assert_eq!(name(NetworkMode::L3Routes), "cbr0");
        assert_eq!(name(NetworkMode::CalicoVxlan), "Calico");
    }

    #[test]
    fn vni_and_mtu_have_limits() {
        assert!("0".parse::<Vni>().is_err() && "1".parse::<Vni>().is_ok());
        assert!("16777216".parse::<Vni>().is_err());
        assert!("575".parse::<Mtu>().is_err() && "65536".parse::<Mtu>().is_err());
    }
}
