//! Settings of an adapter, and restoring those that were lost to a virtual switch.
#![allow(unsafe_code, reason = "the IP helper of the Windows API")]

use std::net::{IpAddr, Ipv4Addr};

use casement_resource::{Failure, ObservedAdapter, RegistryData};
use ipnet::IpNet;
use windows_sys::Win32::Foundation::{ERROR_OBJECT_ALREADY_EXISTS, ERROR_SUCCESS};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    CreateUnicastIpAddressEntry, InitializeUnicastIpAddressEntry, MIB_UNICASTIPADDRESS_ROW,
};

use super::adapters::{self, Adapter};
use super::failure::from_code;
use super::registry;
use super::routes::{self, Route, socket_address};

/// Holds static settings; DHCP values have other names.
const INTERFACES: &str = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces";
const NAME_SERVERS: &str = "NameServer";

pub fn read(address: IpAddr) -> Result<Option<ObservedAdapter>, Failure> {
    let Some(adapter) = adapters::with_address(address)? else {
        return Ok(None);
    };
    let gateways = gateways(adapter.index)?;
    Ok(Some(ObservedAdapter {
        addresses: addresses(&adapter),
        gateways,
        name_servers: name_servers(&adapter)?,
        metric: routes::metric(adapter.index)?,
    }))
}

/// Restores missing settings. An empty name server list means DHCP.
pub fn restore(address: IpAddr, settings: &ObservedAdapter) -> Result<(), Failure> {
    let adapter = adapters::require(address)?;
    let current = addresses(&adapter);
    for missing in settings.addresses.iter().filter(|it| !current.contains(it)) {
        add_address(adapter.index, *missing)?;
    }
    let current = gateways(adapter.index)?;
    for missing in settings.gateways.iter().filter(|it| !current.contains(it)) {
        routes::add(&Route {
            destination: Ipv4Addr::UNSPECIFIED.into(),
            prefix_length: 0,
            gateway: *missing,
            interface: adapter.index,
            metric: 0,
        })?;
    }
    if name_servers(&adapter)? != settings.name_servers {
        let servers = settings.name_servers.iter().map(ToString::to_string);
        let servers = RegistryData::Text(servers.collect::<Vec<_>>().join(","));
        registry::write(&key(&adapter), NAME_SERVERS, &servers)?;
    }
    if routes::metric(adapter.index)? != settings.metric {
        routes::set_metric(adapter.index, settings.metric)?;
    }
    Ok(())
}

/// Without link-local addresses, which the adapter chooses itself and which differ
/// next time.
fn addresses(adapter: &Adapter) -> Vec<IpNet> {
    let link_local = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let configured = adapter
        .addresses
        .iter()
        .filter(|it| !link_local(it.address));
    configured
        .filter_map(|bound| IpNet::new(bound.address, bound.prefix_length).ok())
        .collect()
}

fn gateways(interface: u32) -> Result<Vec<IpAddr>, Failure> {
    let all = routes::routes()?.into_iter();
    let default = all.filter(|route| route.prefix_length == 0 && route.interface == interface);
    Ok(default
        .map(|route| route.gateway)
        .filter(|gateway| gateway.is_ipv4() && !gateway.is_unspecified())
        .collect())
}

fn key(adapter: &Adapter) -> String {
    format!(r"{INTERFACES}\{}", adapter.guid)
}

fn name_servers(adapter: &Adapter) -> Result<Vec<IpAddr>, Failure> {
    let Some(RegistryData::Text(text)) = registry::read(&key(adapter), NAME_SERVERS)? else {
        return Ok(Vec::new());
    };
    let parts = text.split([',', ' ']);
    Ok(parts.filter_map(|part| part.parse().ok()).collect())
}

fn add_address(interface: u32, address: IpNet) -> Result<(), Failure> {
    let mut row = MIB_UNICASTIPADDRESS_ROW::default();
    // SAFETY: a writable row.
    unsafe { InitializeUnicastIpAddressEntry(&mut row) };
    row.InterfaceIndex = interface;
    row.Address = socket_address(address.addr());
    row.OnLinkPrefixLength = address.prefix_len();
    // SAFETY: a fully initialized row.
    match unsafe { CreateUnicastIpAddressEntry(&row) } {
        ERROR_SUCCESS | ERROR_OBJECT_ALREADY_EXISTS => Ok(()),
        code => Err(from_code(
            format_args!("restore the address {address} of the adapter"),
            code,
        )),
    }
}
