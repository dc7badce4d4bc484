//! The wire, with Linux bridges, veths and VXLAN in the network namespace of
//! the host.
//!
//! | HNS | Linux |
//! | --- | --- |
//! | virtual switch on the card | bridge `vEthernet` that has the card's address |
//! | network | bridge `hns…` that has the gateway's address, and forwarding |
//! | overlay | VXLAN device `vxl…` on that bridge, which has the router's MAC |
//! | namespace | network namespace named after it |
//! | endpoint in a namespace | veth from the bridge to `eth0` |
//! | endpoint on the host | one more address of the bridge |

mod command;
#[path = "linux/network.rs"]
mod link;
mod switch;

use std::time::Duration;

use self::command::Commands;
use super::fabric::{Effect, Fabric, FabricError};

/// What the switch's adapter is called. Windows says `vEthernet (Ethernet)`,
/// which is too long for Linux.
pub const VIRTUAL_ADAPTER: &str = "vEthernet";

/// How long connections are dead when the switch comes or goes.
const CUT: Duration = Duration::from_millis(1500);

/// See the module.
#[derive(Debug)]
pub struct LinuxFabric {
    commands: Commands,
    cut: Duration,
}

impl LinuxFabric {
    /// In the namespace of this process.
    pub fn new() -> Self {
        Self {
            commands: Commands::default(),
            cut: CUT,
        }
    }

    /// Cuts connections for another time than 1.5 seconds.
    #[must_use]
    pub fn with_cut(mut self, cut: Duration) -> Self {
        self.cut = cut;
        self
    }

    /// In another network namespace, by its name under `/run/netns`.
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
            Effect::SwitchMade { nic, cut } => self.make_switch(nic, *cut),
            Effect::SwitchGone { nic } => self.remove_switch(nic),
            Effect::NetworkMade(plan) => self.make_network(plan),
            Effect::NetworkGone(plan) => self.remove_network(plan),
            Effect::NamespaceMade(id) => self.make_namespace(id),
            Effect::NamespaceGone(id) => self.commands.ip(&["netns", "del", id]),
            Effect::EndpointAttached(place) => self.attach(place),
            Effect::EndpointDetached(place) => self.detach(place),
            Effect::RemoteSubnetAdded(subnet) => self.add_remote(subnet),
            Effect::RemoteSubnetRemoved(subnet) => self.remove_remote(subnet),
        }
    }
}
