//! Addresses of interfaces.

use std::net::IpAddr;

use lab_wire::Failure;
use lab_wire::adapter::Address;
use serde::Deserialize;

use super::ip::{self, Link};
use super::{exists, invalid, not_found};

/// As `ip -j addr` shows a link.
#[derive(Debug, Deserialize)]
struct Shown {
    ifindex: Option<u32>,
    #[serde(default)]
    addr_info: Vec<Info>,
}

#[derive(Debug, Deserialize)]
struct Info {
    local: Option<IpAddr>,
    prefixlen: u8,
}

/// Adds an address that the interface has not.
pub fn create(address: &Address) -> Result<(), Failure> {
    let longest = if address.address.is_ipv4() { 32 } else { 128 };
    if address.prefix_length > longest {
        return Err(invalid(format!("{address:?} is no address")));
    }
    let link = ip::link(address.interface)?;
    if prefix_of(address)?.is_some() {
        return Err(exists(format!("{} has {}", link.ifname, address.address)));
    }
    change("add", address, address.prefix_length, &link)
}

/// Removes an address that the interface has.
pub fn delete(address: &Address) -> Result<(), Failure> {
    let link = ip::link(address.interface)?;
    match prefix_of(address)? {
        Some(length) => change("del", address, length, &link),
        None => Err(not_found(format!(
            "{} has no {}",
            link.ifname, address.address
        ))),
    }
}

fn prefix_of(address: &Address) -> Result<Option<u8>, Failure> {
    let links: Vec<Shown> = ip::show(&["addr", "show"])?;
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
        // Windows' callers want the address at once; nobody else has it here.
        arguments.push("nodad");
    }
    ip::change(&arguments)
}
