//! A [`Fabric`] that uses Linux bridges, veths and VXLAN in the network namespace of
//! the host.
//!
//! | HNS | Linux |
//! | --- | --- |
//! | virtual switch on the NIC | bridge `vEthernet` with the NIC's addresses |
//! | network | bridge `hns…` with the gateway's address, and forwarding |
//! | overlay | VXLAN device `vxl…` on that bridge, which has the router's MAC |
//! | namespace | network namespace with the same id as name |
//! | endpoint in a namespace | veth from the bridge to `eth0` |
//! | endpoint on the host | additional address of the bridge |

mod command;
mod network;
mod switch;

use std::time::Duration;

use self::command::Commands;
use super::fabric::{Effect, Fabric, FabricError};

/// The adapter of the switch. The Windows name, `vEthernet (Ethernet)`, is too long for
/// Linux.
pub const VIRTUAL_ADAPTER: &str = "vEthernet";

/// How long the NIC is down when the switch is created or removed.
const OUTAGE: Duration = Duration::from_millis(1500);

#[derive(Debug)]
pub struct LinuxFabric {
    commands: Commands,
    outage: Duration,
}

impl LinuxFabric {
    /// Works in the network namespace of this process.
    pub fn new() -> Self {
        Self {
            commands: Commands::default(),
            outage: OUTAGE,
        }
    }

    /// Replaces the default outage of 1.5 s.
    #[must_use]
    pub fn with_outage(mut self, outage: Duration) -> Self {
        self.outage = outage;
        self
    }

    /// Works in another network namespace, by its name in `/run/netns`.
    #[must_use]
    pub fn in_netns(mut self, name: &str) -> Self {
        self.commands = Commands::in_netns(name);
        self
    }
}

impl Default for LinuxFabric {
    fn default() -> Self {
        Self::new()
    }
}

impl Fabric for LinuxFabric {
    fn apply(&mut self, effect: &Effect) -> Result<(), FabricError> {
        match effect {
            Effect::SwitchCreated {
                nic,
                reset_connections,
            } => self.create_switch(nic, *reset_connections),
            Effect::SwitchRemoved { nic } => self.remove_switch(nic),
            Effect::NetworkCreated(plan) => self.create_network(plan),
            Effect::NetworkRemoved(plan) => self.remove_network(plan),
            Effect::NamespaceCreated(id) => self.create_namespace(id),
            Effect::NamespaceRemoved(id) => self.commands.ip(&["netns", "del", id]),
            Effect::EndpointAttached(attachment) => self.attach(attachment),
            Effect::EndpointDetached(attachment) => self.detach(attachment),
            Effect::RemoteSubnetAdded(subnet) => self.add_remote(subnet),
            Effect::RemoteSubnetRemoved(subnet) => self.remove_remote(subnet),
        }
    }
}
