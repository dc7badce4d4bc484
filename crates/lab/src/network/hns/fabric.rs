//! What a change of the store means for the wire.
//!
//! The store only says what happened, as [`Effect`]s; a [`Fabric`] makes it
//! so. Every effect has an inverse, so that a failure half way can be undone.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::mac::Mac;

/// A network as the wire sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPlan {
    /// The network's id.
    pub id: String,
    /// Subnets with their gateways, which the network itself answers for.
    pub subnets: Vec<(IpNet, Option<IpAddr>)>,
    /// For overlays.
    pub vxlan: Option<Vxlan>,
}

/// What an overlay adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vxlan {
    /// The network's number on the wire.
    pub vni: u32,
    /// UDP port.
    pub port: u16,
    /// The distributed router: other hosts send the pods' packets to it.
    pub router_mac: Mac,
    /// The host's address, from which packets leave.
    pub local: Ipv4Addr,
}

/// The way to the pods of another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSubnet {
    /// On which network.
    pub network: String,
    /// The other host's pods.
    pub prefix: IpNet,
    /// The number on the wire.
    pub vni: u32,
    /// The other host.
    pub provider: Ipv4Addr,
    /// The other host's distributed router.
    pub router_mac: Mac,
    /// True where no other prefix leads to the same router.
    pub sole: bool,
}

/// An endpoint in its namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The endpoint's id.
    pub endpoint: String,
    /// The network's id.
    pub network: String,
    /// The namespace's id; `None` for the host itself.
    pub namespace: Option<String>,
    /// Its number in the namespace: the first is `eth0`.
    pub index: usize,
    /// The endpoint's.
    pub mac: Mac,
    /// Addresses with the subnet's length.
    pub addresses: Vec<IpNet>,
    /// Destination and gateway.
    pub routes: Vec<(IpNet, IpAddr)>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The first external network takes the card into a virtual switch, which
    /// cuts the host's connections; at boot there are none to cut.
    SwitchMade {
        /// The card's name.
        nic: String,
        /// Whether connections break.
        cut: bool,
    },
    /// The last external network is gone, and the card is free again.
    SwitchGone {
        /// The card's name.
        nic: String,
    },
    /// A network is there.
    NetworkMade(NetworkPlan),
    /// A network is gone.
    NetworkGone(NetworkPlan),
    /// A namespace is there.
    NamespaceMade(String),
    /// A namespace is gone.
    NamespaceGone(String),
    /// An endpoint has a place.
    EndpointAttached(Attachment),
    /// An endpoint has lost it.
    EndpointDetached(Attachment),
    /// Another host's pods can be reached.
    RemoteSubnetAdded(RemoteSubnet),
    /// Another host's pods cannot be reached any more.
    RemoteSubnetRemoved(RemoteSubnet),
}

impl Effect {
    /// What takes it back.
    pub fn inverse(&self) -> Self {
        match self.clone() {
            Self::SwitchMade { nic, .. } => Self::SwitchGone { nic },
            Self::SwitchGone { nic } => Self::SwitchMade { nic, cut: true },
            Self::NetworkMade(plan) => Self::NetworkGone(plan),
            Self::NetworkGone(plan) => Self::NetworkMade(plan),
            Self::NamespaceMade(id) => Self::NamespaceGone(id),
            Self::NamespaceGone(id) => Self::NamespaceMade(id),
            Self::EndpointAttached(place) => Self::EndpointDetached(place),
            Self::EndpointDetached(place) => Self::EndpointAttached(place),
            Self::RemoteSubnetAdded(subnet) => Self::RemoteSubnetRemoved(subnet),
            Self::RemoteSubnetRemoved(subnet) => Self::RemoteSubnetAdded(subnet),
        }
    }
}

/// The wire refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FabricError(pub String);

/// Makes effects real.
pub trait Fabric {
    /// Makes one effect real, wholly or not at all.
    fn apply(&mut self, effect: &Effect) -> Result<(), FabricError>;
}

/// No wire: the store alone.
#[derive(Debug, Default)]
pub struct NoFabric;

impl Fabric for NoFabric {
    fn apply(&mut self, _: &Effect) -> Result<(), FabricError> {
        Ok(())
    }
}
