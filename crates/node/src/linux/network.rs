//! Interfaces and routes through `ip -json`, forwarding through `/proc/sys`.

use std::fs;
use std::io;
use std::net::IpAddr;

use casement_resource::wire::InterfaceFacts;
use casement_resource::{Failure, InterfaceRef, RouteEntry};
use ipnet::IpNet;
use serde::Deserialize;

use super::{Linux, system_failure};
use crate::platform::{Network, Result, unsupported};

/// Routes of casement show up as `proto static`.
const ROUTE_PROTOCOL: &str = "static";

#[derive(Deserialize)]
struct Link {
    ifindex: u32,
    ifname: String,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    local: Option<IpAddr>,
    prefixlen: Option<u8>,
}

#[derive(Deserialize)]
struct Route {
    dst: String,
    gateway: Option<IpAddr>,
    dev: Option<String>,
}

impl Network for Linux {
    fn interfaces(&self) -> Result<Vec<InterfaceFacts>> {
        let links: Vec<Link> = parse(&self.root.run_tool(&["ip", "-json", "address", "show"])?)?;
        let network = |address: &Address| IpNet::new(address.local?, address.prefixlen?).ok();
        Ok(links
            .iter()
            .map(|link| InterfaceFacts {
                index: link.ifindex,
                name: link.ifname.clone(),
                addresses: link.addr_info.iter().filter_map(network).collect(),
            })
            .collect())
    }

    fn interface(&self, reference: &InterfaceRef) -> Result<Option<u32>> {
        Ok(interface(self, reference)?.map(|interface| interface.index))
    }

    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>> {
        let interfaces = self.interfaces()?;
        let expected = destination.trunc();
        let text = self.root.run_tool(&[
            "ip",
            "-json",
            family(destination),
            "route",
            "show",
            "exact",
            &expected.to_string(),
        ])?;
        let found: Vec<Route> = parse(&text)?;
        let entry = |route: &Route| {
            let name = route.dev.as_deref()?;
            let interface = interfaces.iter().find(|interface| interface.name == name)?;
            (network(&route.dst, destination)? == expected).then_some(RouteEntry {
                destination: expected,
                next_hop: route.gateway,
                interface_index: interface.index,
            })
        };
        Ok(found.iter().filter_map(entry).collect())
    }

    fn add_route(&self, route: &RouteEntry) -> Result<()> {
        self.route("add", route)
    }

    fn delete_route(&self, route: &RouteEntry) -> Result<()> {
        if !self.routes(&route.destination)?.contains(route) {
            return Ok(());
        }
        self.route("delete", route)
    }

    fn forwarding(&self, reference: &InterfaceRef) -> Result<Option<bool>> {
        let Some(path) = forwarding_file(self, reference)? else {
            return Ok(None);
        };
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim() != "0")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(system_failure(format!("failed to read `{path}`"), &error)),
        }
    }

    fn set_forwarding(&self, reference: &InterfaceRef, on: bool) -> Result<()> {
        let path = forwarding_file(self, reference)?.ok_or_else(|| {
            let not_found = io::Error::from(io::ErrorKind::NotFound);
            system_failure(format!("{reference} does not exist"), &not_found)
        })?;
        fs::write(&path, if on { "1" } else { "0" })
            .map_err(|error| system_failure(format!("failed to write `{path}`"), &error))
    }
}

impl Linux {
    fn route(&self, verb: &str, route: &RouteEntry) -> Result<()> {
        let interfaces = self.interfaces()?;
        let interface = interfaces
            .iter()
            .find(|interface| interface.index == route.interface_index)
            .ok_or_else(|| {
                let not_found = io::Error::from(io::ErrorKind::NotFound);
                system_failure(
                    format!("interface {} does not exist", route.interface_index),
                    &not_found,
                )
            })?;
        let (destination, hop) = (route.destination.trunc().to_string(), route.next_hop);
        let hop = hop.map(|hop| hop.to_string());
        let mut arguments = vec![
            "ip",
            family(&route.destination),
            "route",
            verb,
            &destination,
        ];
        if let Some(hop) = &hop {
            arguments.extend(["via", hop]);
        }
        arguments.extend(["dev", &interface.name]);
        if verb == "add" {
            arguments.extend(["protocol", ROUTE_PROTOCOL]);
        }
        self.root.run_tool(&arguments).map(drop)
    }
}

fn family(network: &IpNet) -> &'static str {
    match network {
        IpNet::V4(_) => "-4",
        IpNet::V6(_) => "-6",
    }
}

/// `ip` prints a host route without a prefix length, and `default` for all.
fn network(text: &str, like: &IpNet) -> Option<IpNet> {
    if text == "default" {
        return IpNet::new(like.addr(), 0)
            .ok()
            .map(|network| network.trunc());
    }
    text.parse()
        .ok()
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn interface(linux: &Linux, reference: &InterfaceRef) -> Result<Option<InterfaceFacts>> {
    match reference {
        InterfaceRef::Address(address) => {
            let mut interfaces = linux.interfaces()?.into_iter();
            Ok(interfaces.find(|interface| interface.has(*address)))
        }
        InterfaceRef::HnsNetwork(_) | InterfaceRef::Every => {
            Err(unsupported(&reference.to_string()))
        }
    }
}

/// The sysctl file of forwarding; `None` if there is no such interface.
fn forwarding_file(linux: &Linux, reference: &InterfaceRef) -> Result<Option<String>> {
    if *reference == InterfaceRef::Every {
        return Ok(Some("/proc/sys/net/ipv4/ip_forward".to_owned()));
    }
    let family = match reference {
        InterfaceRef::Address(IpAddr::V6(_)) => "ipv6",
        _ => "ipv4",
    };
    let found = interface(linux, reference)?;
    Ok(found.map(|found| format!("/proc/sys/net/{family}/conf/{}/forwarding", found.name)))
}

pub(super) fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<Vec<T>> {
    // Some versions of `ip` print nothing if there is no match.
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| -> Failure {
        system_failure(
            "the output of `ip -json` cannot be parsed",
            &io::Error::other(error),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_of_ip_are_parsed() {
        let like: IpNet = "10.244.1.0/24".parse().unwrap();
        assert_eq!(network("10.244.1.0/24", &like), Some(like));
        assert_eq!(
            network("10.244.1.7", &like),
            Some("10.244.1.7/32".parse().unwrap())
        );
        assert_eq!(
            network("default", &like),
            Some("0.0.0.0/0".parse().unwrap())
        );
    }
}
