//! What the host's adapter is set to, and giving it back what it has lost to a
//! virtual switch.
#![allow(unsafe_code, reason = "the IP helper of the Windows API")]

use std::net::{IpAddr, Ipv4Addr};

use casement_resource::{AdapterSeen, Failure, RegistryData};
use ipnet::IpNet;
use windows_sys::Win32::Foundation::{ERROR_OBJECT_ALREADY_EXISTS, ERROR_SUCCESS};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    CreateUnicastIpAddressEntry, InitializeUnicastIpAddressEntry, MIB_UNICASTIPADDRESS_ROW,
};

use super::adapters::{self, Adapter};
use super::failure::refused;
use super::registry;
use super::routes::{self, Hop, socket_address};

/// Where Windows keeps what people have set; DHCP's values have names of their
/// own.
const INTERFACES: &str = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces";
const NAME_SERVERS: &str = "NameServer";

/// The settings of the adapter that has an address.
pub fn read(address: IpAddr) -> Result<Option<AdapterSeen>, Failure> {
    let Some(adapter) = adapters::with_address(address)? else {
        return Ok(None);
    };
    let gateways = gateways(adapter.index)?;
    Ok(Some(AdapterSeen {
        addresses: addresses(&adapter),
        gateways,
        name_servers: name_servers(&adapter)?,
        metric: routes::metric(adapter.index)?,
    }))
}

/// Gives the adapter that has an address what it lacks of these. An empty list
/// of name servers is how Windows writes that DHCP says who they are.
pub fn restore(address: IpAddr, settings: &AdapterSeen) -> Result<(), Failure> {
    let adapter = adapters::require(address)?;
    let there = addresses(&adapter);
    for lost in settings.addresses.iter().filter(|it| !there.contains(it)) {
        add_address(adapter.index, *lost)?;
    }
    let there = gateways(adapter.index)?;
    for lost in settings.gateways.iter().filter(|it| !there.contains(it)) {
        routes::add(&Hop {
            destination: Ipv4Addr::UNSPECIFIED.into(),
            prefix_length: 0,
            gateway: *lost,
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

/// Those that somebody gave it: what begins with 169.254 or `fe80` the adapter
/// has chosen itself, and the next one chooses another.
fn addresses(adapter: &Adapter) -> Vec<IpNet> {
    let chosen = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let given = adapter.addresses.iter().filter(|it| !chosen(it.address));
    given
        .filter_map(|bound| IpNet::new(bound.address, bound.prefix_length).ok())
        .collect()
}

fn gateways(interface: u32) -> Result<Vec<IpAddr>, Failure> {
    let all = routes::routes()?.into_iter();
    let default = all.filter(|hop| hop.prefix_length == 0 && hop.interface == interface);
    Ok(default
        .map(|hop| hop.gateway)
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
    // SAFETY: a row to be filled.
    unsafe { InitializeUnicastIpAddressEntry(&mut row) };
    row.InterfaceIndex = interface;
    row.Address = socket_address(address.addr());
    row.OnLinkPrefixLength = address.prefix_len();
    // SAFETY: a whole row.
    match unsafe { CreateUnicastIpAddressEntry(&row) } {
        ERROR_SUCCESS | ERROR_OBJECT_ALREADY_EXISTS => Ok(()),
        code => Err(refused(
            format_args!("give the adapter back its address {address}"),
            code,
        )),
    }
}
