//! HNS of a simulated host.

use std::net::IpAddr;

use casement_resource::{HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsSubnet};

use super::world::World;
use super::{Sim, refused};
use crate::platform::{Balancer, Hns, NewEndpoint, Result};

impl World {
    /// The first network on a card takes it: the host's address is on another
    /// interface from then on, which has another number, and what was routed
    /// through the card's own is lost.
    fn take_card(&mut self, address: IpAddr) {
        let highest = self.interfaces.iter().chain(&self.taken);
        let index = highest.map(|it| it.index).max().unwrap_or(0) + 1;
        if let Some(card) = self.interfaces.iter_mut().find(|it| it.has(address)) {
            self.taken.push(card.clone());
            let before = card.index;
            card.index = index;
            card.name = format!("vEthernet ({})", card.name);
            self.routes.retain(|it| it.interface_index != before);
        }
    }

    /// The last one gives it back.
    pub(super) fn give_card_back(&mut self, address: IpAddr) {
        let Some(place) = self.taken.iter().position(|it| it.has(address)) else {
            return;
        };
        let card = self.taken.remove(place);
        if let Some(now) = self.interfaces.iter_mut().find(|it| it.has(address)) {
            let switch = now.index;
            *now = card;
            self.routes.retain(|it| it.interface_index != switch);
            self.forwarding.remove(&switch);
        }
    }

    /// A switch that takes an adapter, or gives it back, makes another one in
    /// its place, which has its addresses and not what people have set.
    fn lose_adapter(&mut self) {
        self.adapter.gateways.clear();
        self.adapter.name_servers.clear();
        self.adapter.metric = None;
    }
}

impl Hns for Sim {
    fn hns_networks(&self) -> Result<Vec<HnsNetworkFacts>> {
        self.read("hns_networks")?;
        Ok(self.lock().networks.clone())
    }

    /// The first network on a card takes it, and with it every connection.
    fn create_hns_network(&self, network: &HnsNetwork) -> Result<()> {
        let taken = self.change(&format!("create_hns_network {}", network.name), |world| {
            if !world
                .interfaces
                .iter()
                .any(|it| it.has(network.adapter_address))
            {
                return Err(refused("create_hns_network", "no adapter has that address"));
            }
            if world
                .networks
                .iter()
                .any(|it| it.name.eq_ignore_ascii_case(&network.name))
            {
                return Err(refused(
                    "create_hns_network",
                    "a network with this name already exists",
                ));
            }
            world.lose_adapter();
            world.networks.push(HnsNetworkFacts {
                id: format!("network-{}", network.name),
                name: network.name.clone(),
                network_type: network.network_type.to_string(),
                subnets: vec![HnsSubnet {
                    subnet: network.subnet,
                    gateway: Some(network.gateway),
                }],
                management_address: Some(network.adapter_address),
            });
            let first = users(world, network.adapter_address) == 1;
            if first {
                world.take_card(network.adapter_address);
            }
            Ok(first)
        })?;
        if taken {
            self.lose_connections();
        }
        Ok(())
    }

    /// The last one gives the card back, with the same consequence.
    fn delete_hns_network(&self, id: &str) -> Result<()> {
        let given_back = self.change(&format!("delete_hns_network {id}"), |world| {
            let Some(place) = world.networks.iter().position(|it| it.id == id) else {
                return Ok(false);
            };
            let gone = world.networks.remove(place);
            if world.endpoints.iter().any(|it| it.network == gone.name) {
                world.networks.insert(place, gone);
                return Err(refused("delete_hns_network", "it has endpoints"));
            }
            let Some(address) = gone.management_address else {
                return Ok(false);
            };
            world.lose_adapter();
            let last = users(world, address) == 0;
            if last {
                world.give_card_back(address);
            }
            Ok(last)
        })?;
        if given_back {
            self.lose_connections();
        }
        Ok(())
    }

    fn hns_endpoints(&self) -> Result<Vec<HnsEndpointFacts>> {
        self.read("hns_endpoints")?;
        Ok(self.lock().endpoints.clone())
    }

    fn create_hns_endpoint(&self, endpoint: &NewEndpoint) -> Result<()> {
        self.change(&format!("create_hns_endpoint {}", endpoint.name), |world| {
            let network = world
                .networks
                .iter()
                .find(|it| it.id == endpoint.network_id);
            let Some(network) = network.map(|it| it.name.clone()) else {
                return Err(refused("create_hns_endpoint", "the network was not found"));
            };
            world.endpoints.push(HnsEndpointFacts {
                id: format!("endpoint-{}", endpoint.name),
                name: endpoint.name.clone(),
                network,
                address: Some(endpoint.address),
                attached: Some(false),
            });
            Ok(())
        })
    }

    fn attach_hns_endpoint(&self, id: &str) -> Result<()> {
        self.change(&format!("attach_hns_endpoint {id}"), |world| {
            for endpoint in world.endpoints.iter_mut().filter(|it| it.id == id) {
                endpoint.attached = Some(true);
            }
            Ok(())
        })
    }

    fn delete_hns_endpoint(&self, id: &str) -> Result<()> {
        self.change(&format!("delete_hns_endpoint {id}"), |world| {
            let uses = |it: &Balancer| it.endpoints.iter().any(|endpoint| endpoint == id);
            if world.balancers.iter().any(uses) {
                return Err(refused("delete_hns_endpoint", "a load balancer uses it"));
            }
            world.endpoints.retain(|it| it.id != id);
            Ok(())
        })
    }

    fn hns_balancers(&self) -> Result<Vec<Balancer>> {
        self.read("hns_balancers")?;
        Ok(self.lock().balancers.clone())
    }

    fn delete_hns_balancer(&self, id: &str) -> Result<()> {
        self.change(&format!("delete_hns_balancer {id}"), |world| {
            world.balancers.retain(|it| it.id != id);
            Ok(())
        })
    }
}

/// How many networks stand on the card with this address.
fn users(world: &World, address: IpAddr) -> usize {
    let on_it = |it: &&HnsNetworkFacts| it.management_address == Some(address);
    world.networks.iter().filter(on_it).count()
}
