//! Adds and removes addresses of interfaces.

use std::net::IpAddr;

use lab_wire::Failure;
use lab_wire::adapter::Address;
use serde::Deserialize;

use super::ip::{self, Link};
use super::{exists, invalid, not_found};

/// An entry of `ip -j addr`.
#[derive(Debug, Deserialize)]
struct LinkAddresses {
    ifindex: Option<u32>,
    #[serde(default)]
    addr_info: Vec<AddressInfo>,
}

#[derive(Debug, Deserialize)]
struct AddressInfo {
    local: Option<IpAddr>,
    prefixlen: u8,
}

/// Fails if the interface already has the address.
pub fn create(address: &Address) -> Result<(), Failure> {
    let max_length = if address.address.is_ipv4() { 32 } else { 128 };
    if address.prefix_length > max_length {
        return Err(invalid(format!("{address:?} is not a valid address")));
    }
    let link = ip::link(address.interface)?;
    if prefix_of(address)?.is_some() {
        return Err(exists(format!(
            "{} already has {}",
            link.ifname, address.address
        )));
    }
    change("add", address, address.prefix_length, &link)
}

/// Fails if the interface does not have the address.
pub fn delete(address: &Address) -> Result<(), Failure> {
    let link = ip::link(address.interface)?;
    match prefix_of(address)? {
        Some(length) => change("del", address, length, &link),
        None => Err(not_found(format!(
            "{} does not have {}",
            link.ifname, address.address
        ))),
    }
}

fn prefix_of(address: &Address) -> Result<Option<u8>, Failure> {
    let links: Vec<LinkAddresses> = ip::show(&["addr", "show"])?;
    Ok(links
        .iter()
        .filter(|link| link.ifindex == Some(address.interface))
        .flat_map(|link| &link.addr_info)
        .find(|info| info.local == Some(address.address))
        .map(|info| info.prefixlen))
}

fn change(verb: &str, address: &Address, length: u8, link: &Link) -> Result<(), Failure> {
    let text = format!("{}/{length}", address.address);
    let family = ip::family(address.address);
    let mut arguments = vec![family, "addr", verb, &text, "dev", &link.ifname];
    if verb == "add" && address.address.is_ipv6() {
        // Windows callers use the address at once; duplicates cannot exist here.
        arguments.push("nodad");
    }
    ip::change(&arguments)
}
