//! HNS of a simulated host.

use std::net::IpAddr;

use casement_resource::{HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsSubnet};

use super::world::World;
use super::{Sim, refused};
use crate::platform::{Hns, NewEndpoint, Result};

impl World {
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
            Ok(users(world, network.adapter_address) == 1)
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
            if gone.management_address.is_some() {
                world.lose_adapter();
            }
            world.endpoints.retain(|it| it.network != gone.name);
            let address = gone.management_address;
            Ok(address.is_some_and(|address| users(world, address) == 0))
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
            world.endpoints.retain(|it| it.id != id);
            Ok(())
        })
    }
}

/// How many networks stand on the card with this address.
fn users(world: &World, address: IpAddr) -> usize {
    let on_it = |it: &&HnsNetworkFacts| it.management_address == Some(address);
    world.networks.iter().filter(on_it).count()
}
