//! Interfaces, routes, forwarding, dynamic ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    AdapterSeen, Code, DynamicPorts, DynamicPortsFacts, Failure, InterfaceRef, Protocol, RouteEntry,
};
use ipnet::IpNet;

use super::adapters::{self, Adapter};
use super::routes::{self, Hop};
use super::{Windows, adapter_settings, hns, wmi};
use crate::platform::{Network, unsupported};

/// The adapters in the form that travels.
pub fn interfaces() -> Result<Vec<InterfaceFacts>, Failure> {
    let facts = |adapter: Adapter| InterfaceFacts {
        index: adapter.index,
        name: adapter.name,
        addresses: adapter
            .addresses
            .iter()
            .filter_map(|bound| IpNet::new(bound.address, bound.prefix_length).ok())
            .collect(),
    };
    Ok(adapters::adapters()?.into_iter().map(facts).collect())
}

fn hop(route: &RouteEntry) -> Hop {
    let direct = match route.destination {
        IpNet::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpNet::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    Hop {
        destination: route.destination.network(),
        prefix_length: route.destination.prefix_len(),
        gateway: route.next_hop.unwrap_or(direct),
        interface: route.interface_index,
        metric: 0,
    }
}

fn missing(interface: &InterfaceRef) -> Failure {
    Failure::new(
        Code::InterfaceMissing,
        format!("there is no such interface: {interface}"),
        "apply again when the host has it",
    )
}

impl Network for Windows {
    fn interfaces(&self) -> Result<Vec<InterfaceFacts>, Failure> {
        interfaces()
    }

    fn interface(&self, reference: &InterfaceRef) -> Result<Option<u32>, Failure> {
        let adapter = match reference {
            InterfaceRef::Address(address) => adapters::with_address(*address)?,
            InterfaceRef::HnsNetwork(name) => hns::host_adapter(name)?,
            InterfaceRef::Every => return Err(unsupported("an interface for all")),
        };
        Ok(adapter.map(|adapter| adapter.index))
    }

    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>, Failure> {
        let (network, length) = (destination.network(), destination.prefix_len());
        let found = routes::routes()?
            .into_iter()
            .filter(|hop| hop.destination == network && hop.prefix_length == length);
        Ok(found
            .map(|hop| RouteEntry {
                destination: destination.trunc(),
                next_hop: Some(hop.gateway).filter(|gateway| !gateway.is_unspecified()),
                interface_index: hop.interface,
            })
            .collect())
    }

    fn add_route(&self, route: &RouteEntry) -> Result<(), Failure> {
        routes::add(&hop(route))
    }

    fn delete_route(&self, route: &RouteEntry) -> Result<(), Failure> {
        routes::remove(&hop(route))
    }

    fn forwarding(&self, interface: &InterfaceRef) -> Result<Option<bool>, Failure> {
        match self.interface(interface)? {
            Some(index) => routes::forwarding(index).map(Some),
            None => Ok(None),
        }
    }

    fn adapter(&self, address: IpAddr) -> Result<Option<AdapterSeen>, Failure> {
        adapter_settings::read(address)
    }

    fn restore_adapter(&self, address: IpAddr, settings: &AdapterSeen) -> Result<(), Failure> {
        adapter_settings::restore(address, settings)
    }

    fn dynamic_ports(&self, protocol: Protocol) -> Result<DynamicPortsFacts, Failure> {
        wmi::dynamic_ports(protocol)
    }

    fn set_dynamic_ports(&self, ports: &DynamicPorts) -> Result<(), Failure> {
        wmi::set_dynamic_ports(ports)
    }

    fn set_forwarding(&self, interface: &InterfaceRef, on: bool) -> Result<(), Failure> {
        let index = self
            .interface(interface)?
            .ok_or_else(|| missing(interface))?;
        routes::set_forwarding(index, on)
    }
}
