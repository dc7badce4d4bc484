//! The effects of store changes on the network.
//!
//! The store returns [`Effect`]s; a [`Fabric`] applies them. Every effect has an
//! inverse, so that a partial failure can be rolled back.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::mac::Mac;

/// The parts of a network that affect packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPlan {
    pub id: String,
    /// Subnets with their gateways, whose addresses belong to the network's bridge.
    pub subnets: Vec<(IpNet, Option<IpAddr>)>,
    /// For overlay networks.
    pub vxlan: Option<Vxlan>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vxlan {
    pub vni: u32,
    pub port: u16,
    /// MAC address of the distributed router, to which other hosts send packets for
    /// pods.
    pub router_mac: Mac,
    /// The host's address, used as the tunnel source.
    pub local: Ipv4Addr,
}

/// A route to the pods of another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSubnet {
    pub network: String,
    pub prefix: IpNet,
    pub vni: u32,
    /// The address of the other host.
    pub provider: Ipv4Addr,
    /// MAC address of the other host's distributed router.
    pub router_mac: Mac,
    /// True if no other prefix uses the same router.
    pub only_prefix: bool,
}

/// An endpoint attached to a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub endpoint: String,
    pub network: String,
    /// `None` for the host's own namespace.
    pub namespace: Option<String>,
    /// Position in the namespace: the first is `eth0`.
    pub index: usize,
    pub mac: Mac,
    /// With the prefix length of the subnet.
    pub addresses: Vec<IpNet>,
    /// Destinations and gateways.
    pub routes: Vec<(IpNet, IpAddr)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The first external network moves the NIC into a virtual switch, which resets
    /// the host's connections; at boot there are none.
    SwitchCreated {
        nic: String,
        reset_connections: bool,
    },
    /// The last external network was deleted and the NIC leaves the switch.
    SwitchRemoved {
        nic: String,
    },
    NetworkCreated(NetworkPlan),
    NetworkRemoved(NetworkPlan),
    NamespaceCreated(String),
    NamespaceRemoved(String),
    EndpointAttached(Attachment),
    EndpointDetached(Attachment),
    RemoteSubnetAdded(RemoteSubnet),
    RemoteSubnetRemoved(RemoteSubnet),
}

impl Effect {
    pub fn inverse(&self) -> Self {
        match self.clone() {
            Self::SwitchCreated { nic, .. } => Self::SwitchRemoved { nic },
            Self::SwitchRemoved { nic } => Self::SwitchCreated {
                nic,
                reset_connections: true,
            },
            Self::NetworkCreated(plan) => Self::NetworkRemoved(plan),
            Self::NetworkRemoved(plan) => Self::NetworkCreated(plan),
            Self::NamespaceCreated(id) => Self::NamespaceRemoved(id),
            Self::NamespaceRemoved(id) => Self::NamespaceCreated(id),
            Self::EndpointAttached(attachment) => Self::EndpointDetached(attachment),
            Self::EndpointDetached(attachment) => Self::EndpointAttached(attachment),
            Self::RemoteSubnetAdded(subnet) => Self::RemoteSubnetRemoved(subnet),
            Self::RemoteSubnetRemoved(subnet) => Self::RemoteSubnetAdded(subnet),
        }
    }
}

/// The message of a failed command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FabricError(pub String);

pub trait Fabric {
    /// Applies one effect completely or not at all.
    fn apply(&mut self, effect: &Effect) -> Result<(), FabricError>;
}

/// Ignores all effects.
#[derive(Debug, Default)]
pub struct NoFabric;

impl Fabric for NoFabric {
    fn apply(&mut self, _: &Effect) -> Result<(), FabricError> {
        Ok(())
    }
}
