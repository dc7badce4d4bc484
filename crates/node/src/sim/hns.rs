//! HNS of a simulated host.

use std::net::IpAddr;

use casement_resource::{HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsSubnet};

use super::world::World;
use super::{Sim, refused};
use crate::platform::{Balancer, Hns, NewEndpoint, Result};

impl World {
    /// The first network on a NIC captures it: the host's address moves to another
    /// interface with another index, and routes through the NIC are lost.
    fn capture_nic(&mut self, address: IpAddr) {
        let interfaces = self.interfaces.iter().chain(&self.captured_nics);
        let index = interfaces.map(|it| it.index).max().unwrap_or(0) + 1;
        if let Some(nic) = self.interfaces.iter_mut().find(|it| it.has(address)) {
            self.captured_nics.push(nic.clone());
            let before = nic.index;
            nic.index = index;
            nic.name = format!("vEthernet ({})", nic.name);
            self.routes.retain(|it| it.interface_index != before);
        }
    }

    /// The last network releases it.
    pub(super) fn release_nic(&mut self, address: IpAddr) {
        let Some(index) = self.captured_nics.iter().position(|it| it.has(address)) else {
            return;
        };
        let nic = self.captured_nics.remove(index);
        if let Some(now) = self.interfaces.iter_mut().find(|it| it.has(address)) {
            let switch = now.index;
            *now = nic;
            self.routes.retain(|it| it.interface_index != switch);
            self.forwarding.remove(&switch);
        }
    }

    /// Capturing or releasing an adapter replaces it: addresses are kept, other settings
    /// are lost.
    fn reset_adapter(&mut self) {
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

    /// The first network on a NIC captures it and drops every connection.
    fn create_hns_network(&self, network: &HnsNetwork) -> Result<()> {
        let captured = self.change(&format!("create_hns_network {}", network.name), |world| {
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
            world.reset_adapter();
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
            let first = networks_on(world, network.adapter_address) == 1;
            if first {
                world.capture_nic(network.adapter_address);
            }
            Ok(first)
        })?;
        if captured {
            self.lose_connections();
        }
        Ok(())
    }

    /// The last network releases the NIC, and drops every connection too.
    fn delete_hns_network(&self, id: &str) -> Result<()> {
        let released = self.change(&format!("delete_hns_network {id}"), |world| {
            let Some(index) = world.networks.iter().position(|it| it.id == id) else {
                return Ok(false);
            };
            let removed = world.networks.remove(index);
            if world.endpoints.iter().any(|it| it.network == removed.name) {
                world.networks.insert(index, removed);
                return Err(refused("delete_hns_network", "it has endpoints"));
            }
            let Some(address) = removed.management_address else {
                return Ok(false);
            };
            world.reset_adapter();
            let last = networks_on(world, address) == 0;
            if last {
                world.release_nic(address);
            }
            Ok(last)
        })?;
        if released {
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

/// How many networks use the NIC with this address.
fn networks_on(world: &World, address: IpAddr) -> usize {
    let on_it = |it: &&HnsNetworkFacts| it.management_address == Some(address);
    world.networks.iter().filter(on_it).count()
}
