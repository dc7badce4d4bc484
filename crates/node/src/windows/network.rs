//! Interfaces, routes, forwarding and dynamic ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    Code, DynamicPorts, DynamicPortsFacts, Failure, InterfaceRef, ObservedAdapter, Protocol,
    RouteEntry,
};
use ipnet::IpNet;

use super::adapters::{self, Adapter};
use super::routes::{self, Route};
use super::{Windows, adapter_settings, hns, wmi};
use crate::platform::{Network, unsupported};

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

fn to_route(route: &RouteEntry) -> Route {
    let direct = match route.destination {
        IpNet::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpNet::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    Route {
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
        format!("interface not found: {interface}"),
        "run `casement apply` again when the interface exists",
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
            InterfaceRef::Every => return Err(unsupported("forwarding on all interfaces at once")),
        };
        Ok(adapter.map(|adapter| adapter.index))
    }

    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>, Failure> {
        let (network, length) = (destination.network(), destination.prefix_len());
        let found = routes::routes()?
            .into_iter()
            .filter(|route| route.destination == network && route.prefix_length == length);
        Ok(found
            .map(|route| RouteEntry {
                destination: destination.trunc(),
                next_hop: Some(route.gateway).filter(|gateway| !gateway.is_unspecified()),
                interface_index: route.interface,
            })
            .collect())
    }

    fn add_route(&self, route: &RouteEntry) -> Result<(), Failure> {
        routes::add(&to_route(route))
    }

    fn delete_route(&self, route: &RouteEntry) -> Result<(), Failure> {
        routes::remove(&to_route(route))
    }

    fn forwarding(&self, interface: &InterfaceRef) -> Result<Option<bool>, Failure> {
        match self.interface(interface)? {
            Some(index) => routes::forwarding(index).map(Some),
            None => Ok(None),
        }
    }

    fn adapter(&self, address: IpAddr) -> Result<Option<ObservedAdapter>, Failure> {
        adapter_settings::read(address)
    }

    fn restore_adapter(&self, address: IpAddr, settings: &ObservedAdapter) -> Result<(), Failure> {
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
