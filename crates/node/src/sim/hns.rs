//! HNS of a simulated host.

use casement_resource::{HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsSubnet};

use super::{Sim, refused};
use crate::platform::{Hns, NewEndpoint, Result};

impl Hns for Sim {
    fn hns_networks(&self) -> Result<Vec<HnsNetworkFacts>> {
        self.read("hns_networks")?;
        Ok(self.lock().networks.clone())
    }

    fn create_hns_network(&self, network: &HnsNetwork) -> Result<()> {
        self.change(&format!("create_hns_network {}", network.name), |world| {
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
            Ok(())
        })
    }

    fn delete_hns_network(&self, id: &str) -> Result<()> {
        self.change(&format!("delete_hns_network {id}"), |world| {
            let name = world
                .networks
                .iter()
                .find(|it| it.id == id)
                .map(|it| it.name.clone());
            world.networks.retain(|it| it.id != id);
            world
                .endpoints
                .retain(|it| Some(&it.network) != name.as_ref());
            Ok(())
        })
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
