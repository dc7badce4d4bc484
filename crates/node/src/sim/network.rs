//! Interfaces and routes of a simulated host.

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    DynamicPorts, DynamicPortsFacts, InterfaceRef, ObservedAdapter, Protocol, RouteEntry,
    SysctlName,
};
use ipnet::IpNet;
use std::net::IpAddr;

use super::{Sim, refused};
use crate::platform::{Kernel, Network, Result};

impl Network for Sim {
    fn dynamic_ports(&self, protocol: Protocol) -> Result<DynamicPortsFacts> {
        self.read("dynamic_ports")?;
        let world = self.lock();
        let range = world.dynamic_ports.get(&protocol);
        range
            .copied()
            .ok_or_else(|| refused("dynamic_ports", "no such range"))
    }

    /// Windows reserves the ports below 1025 and requires at least 255.
    fn set_dynamic_ports(&self, ports: &DynamicPorts) -> Result<()> {
        let (first, count) = (ports.first, ports.count);
        self.change(&format!("set_dynamic_ports {}", ports.protocol), |world| {
            if first < 1025 || count < 255 || first.checked_add(count - 1).is_none() {
                return Err(refused("set_dynamic_ports", "the parameter is incorrect"));
            }
            let range = DynamicPortsFacts { first, count };
            world.dynamic_ports.insert(ports.protocol, range);
            Ok(())
        })
    }

    fn adapter(&self, address: IpAddr) -> Result<Option<ObservedAdapter>> {
        self.read("adapter")?;
        let world = self.lock();
        let exists = world.interfaces.iter().any(|it| it.has(address));
        Ok(exists.then(|| world.adapter.clone()))
    }

    fn restore_adapter(&self, _address: IpAddr, settings: &ObservedAdapter) -> Result<()> {
        self.change("restore_adapter", |world| {
            world.adapter = settings.clone();
            Ok(())
        })
    }

    fn interfaces(&self) -> Result<Vec<InterfaceFacts>> {
        self.read("interfaces")?;
        Ok(self.lock().interfaces.clone())
    }

    fn interface(&self, reference: &InterfaceRef) -> Result<Option<u32>> {
        self.read("interface")?;
        let world = self.lock();
        let address = match reference {
            InterfaceRef::Address(address) => Some(*address),
            InterfaceRef::HnsNetwork(name) => {
                let mut networks = world.networks.iter();
                let network = networks.find(|it| it.name.eq_ignore_ascii_case(name));
                network.and_then(|it| it.management_address)
            }
            InterfaceRef::Every => None,
        };
        let has = |it: &&InterfaceFacts| address.is_some_and(|address| it.has(address));
        Ok(world.interfaces.iter().find(has).map(|it| it.index))
    }

    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>> {
        self.read("routes")?;
        let world = self.lock();
        Ok(world
            .routes
            .iter()
            .filter(|it| it.destination == *destination)
            .cloned()
            .collect())
    }

    fn add_route(&self, route: &RouteEntry) -> Result<()> {
        self.change(&format!("add_route {}", route.destination), |world| {
            if world.routes.contains(route) {
                return Err(refused("add_route", "the object already exists"));
            }
            world.routes.push(route.clone());
            Ok(())
        })
    }

    fn delete_route(&self, route: &RouteEntry) -> Result<()> {
        self.change(&format!("delete_route {}", route.destination), |world| {
            world.routes.retain(|it| it != route);
            Ok(())
        })
    }

    fn forwarding(&self, interface: &InterfaceRef) -> Result<Option<bool>> {
        if *interface == InterfaceRef::Every {
            return Ok(self.sysctl(&ip_forward()?)?.map(|value| value == "1"));
        }
        let index = self.interface(interface)?;
        Ok(index.map(|index| self.lock().forwarding.contains(&index)))
    }

    fn set_forwarding(&self, interface: &InterfaceRef, on: bool) -> Result<()> {
        if *interface == InterfaceRef::Every {
            return self.set_sysctl(&ip_forward()?, if on { "1" } else { "0" });
        }
        let index = self.interface(interface)?;
        let Some(index) = index else {
            return Err(refused("set_forwarding", "no such interface"));
        };
        self.change("set_forwarding", |world| {
            if on {
                world.forwarding.insert(index);
            } else {
                world.forwarding.remove(&index);
            }
            Ok(())
        })
    }
}

/// The sysctl that enables forwarding on all interfaces.
fn ip_forward() -> Result<SysctlName> {
    let name = "net.ipv4.ip_forward".parse();
    name.map_err(|_| refused("forwarding", "no such value"))
}
