//! Converts a caller's document to a network and fills in defaults.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use lab_wire::Failure;
use serde_json::{Value, json};

use super::super::document;
use super::super::failure;
use super::super::kind::NetworkKind;
use super::super::mac::{Mac, MacRange};
use super::super::model::{Network, Policy, Route, Subnet};
use super::super::policy;
use super::super::store::Store;
use super::super::system::System;

/// Smaller ids are reserved.
const MIN_VSID: u32 = 4096;

impl Store {
    /// Accepts both API versions, whose field names do not conflict.
    pub(super) fn read_network(
        &self,
        id: &str,
        settings: &Value,
        system: &mut dyn System,
    ) -> Result<Network, Failure> {
        let spelling = document::text(settings, "Type").unwrap_or_else(|| "NAT".to_owned());
        let kind = NetworkKind::parse(&spelling).ok_or_else(failure::invalid_network_type)?;
        let mut policies = policy::read_all(settings, self.config.version)?;
        policies.extend(v1_policies(settings));
        let mut network = Network {
            id: id.to_owned(),
            name: document::text(settings, "Name").unwrap_or_default(),
            kind,
            spelling,
            policies,
            mac_pools: read_mac_pools(settings)?,
            dns: read_dns(settings),
            ipam: "Static".to_owned(),
            subnets: Vec::new(),
            flags: read_flags(settings),
            dr_mac: None,
            created_at: system.now(),
        };
        (network.ipam, network.subnets) = read_subnets(settings)?;
        if network.subnets.is_empty() && kind.picks_subnet() {
            network.subnets.push(self.pick_subnet(system));
        }
        if network.mac_pools.is_empty() {
            let [a, b, ..] = system.random().to_le_bytes();
            network.mac_pools.push(MacRange::of_hyper_v([a, b]));
        }
        if kind == NetworkKind::Overlay {
            check_overlay(&network)?;
            let [a, b, c, ..] = system.random().to_le_bytes();
            network.dr_mac = Some(Mac::of_hyper_v([a, b, c]));
        }
        Ok(network)
    }

    /// An unused /20 of 172.16.0.0/12.
    fn pick_subnet(&self, system: &mut dyn System) -> Subnet {
        let start = system.random();
        let free = |net: &IpNet| {
            let mut used = self.state.networks.iter().flat_map(|it| &it.subnets);
            !used.any(|other| {
                other
                    .net()
                    .is_some_and(|it| it.contains(net) || net.contains(&it))
            })
        };
        let candidates = (0..256).map(|step| {
            let [index, ..] = start.wrapping_add(step).to_le_bytes();
            let address = Ipv4Addr::new(172, 16 + index / 16, index % 16 * 16, 0);
            (address, IpNet::new_assert(IpAddr::V4(address), 20))
        });
        let mut candidates = candidates.peekable();
        let first = candidates.peek().copied();
        let (address, net) = candidates
            .find(|(_, net)| free(net))
            .or(first)
            .unwrap_or_else(|| {
                let address = Ipv4Addr::new(172, 16, 0, 0);
                (address, IpNet::new_assert(IpAddr::V4(address), 20))
            });
        let gateway = Ipv4Addr::from(u32::from(address) + 1);
        Subnet {
            prefix: net.to_string(),
            policies: Vec::new(),
            routes: vec![default_route(gateway.to_string())],
            flags: 0,
        }
    }
}

/// An overlay network needs a VSID for every subnet.
fn check_overlay(network: &Network) -> Result<(), Failure> {
    let vsids: Option<Vec<u32>> = network.subnets.iter().map(Subnet::vsid).collect();
    match vsids {
        Some(vsids) if vsids.is_empty() => Err(failure::invalid_network()),
        Some(vsids) if vsids.iter().all(|vsid| *vsid >= MIN_VSID) => Ok(()),
        _ => Err(failure::invalid_policy()),
    }
}

/// Settings that v1 keeps outside of the policy list.
fn v1_policies(settings: &Value) -> Vec<Policy> {
    let names = [
        ("NetworkAdapterName", "NetAdapterName", "NetworkAdapterName"),
        ("SourceMac", "SourceMacAddress", "SourceMacAddress"),
    ];
    names
        .into_iter()
        .filter_map(|(field, kind, setting)| {
            let value = document::text(settings, field)?;
            Some(Policy {
                kind: kind.to_owned(),
                settings: json!({ setting: value }),
            })
        })
        .collect()
}

fn read_flags(settings: &Value) -> u32 {
    let named = |text: &str| match text.trim() {
        "EnableNonPersistent" => 8,
        "DisableHostPort" => 1024,
        "EnableIov" => 8192,
        _ => 0,
    };
    let names = || document::text(settings, "Flags").map(|text| text.split(',').map(named).sum());
    document::number32(settings, "Flags")
        .or_else(names)
        .unwrap_or(0)
}

fn read_mac_pools(settings: &Value) -> Result<Vec<MacRange>, Failure> {
    let v2 = document::field(settings, "MacPool").map(|pool| document::list(pool, "Ranges"));
    let ranges = v2.unwrap_or_default().iter();
    let ranges = ranges.chain(document::list(settings, "MacPools"));
    let mac = |range: &Value, name: &str| -> Result<Mac, Failure> {
        let text = document::text(range, name).unwrap_or_default();
        text.parse().map_err(|_| failure::invalid_network())
    };
    ranges
        .map(|range| {
            Ok(MacRange {
                start_mac_address: mac(range, "StartMacAddress")?,
                end_mac_address: mac(range, "EndMacAddress")?,
            })
        })
        .collect()
}

/// `Dns` unchanged, or built from the v1 fields.
pub(in super::super) fn read_dns(settings: &Value) -> Value {
    if let Some(dns) = document::field(settings, "Dns") {
        return dns.clone();
    }
    let split = |name: &str| -> Vec<String> {
        let text = document::text(settings, name).unwrap_or_default();
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let (suffix, servers) = (split("DNSSuffix"), split("DNSServerList"));
    match (suffix.is_empty(), servers.is_empty()) {
        (true, true) => json!({}),
        _ => json!({"Search": suffix, "ServerList": servers}),
    }
}

/// The IPAM type and all subnets, from v2 and v1 fields.
fn read_subnets(settings: &Value) -> Result<(String, Vec<Subnet>), Failure> {
    let ipams = document::list(settings, "Ipams");
    let kind = ipams.first().and_then(|ipam| document::text(ipam, "Type"));
    let v2 = ipams
        .iter()
        .flat_map(|ipam| document::list(ipam, "Subnets"));
    let subnets = v2.chain(document::list(settings, "Subnets"));
    let subnets: Result<Vec<Subnet>, Failure> = subnets.map(read_subnet).collect();
    Ok((kind.unwrap_or_else(|| "Static".to_owned()), subnets?))
}

/// Accepts both API versions.
pub(super) fn read_subnet(document: &Value) -> Result<Subnet, Failure> {
    let prefix = document::text(document, "IpAddressPrefix")
        .or_else(|| document::text(document, "AddressPrefix"))
        .ok_or_else(failure::invalid_network)?;
    prefix
        .parse::<IpNet>()
        .map_err(|_| failure::invalid_network())?;
    let mut routes = read_routes(document);
    if let Some(gateway) = document::text(document, "GatewayAddress") {
        routes.insert(0, default_route(gateway));
    }
    let policies = document::list(document, "Policies")
        .iter()
        .map(Policy::read);
    Ok(Subnet {
        prefix,
        policies: policies.collect::<Result<_, _>>()?,
        routes,
        flags: document::number32(document, "Flags").unwrap_or(0),
    })
}

/// Skips routes without a next hop: a plugin without IPAM sends one to let HNS choose.
pub(in super::super) fn read_routes(document: &Value) -> Vec<Route> {
    let routes = document::list(document, "Routes").iter();
    routes
        .filter_map(|route| {
            Some(Route {
                next_hop: document::text(route, "NextHop")?,
                destination_prefix: document::text(route, "DestinationPrefix")
                    .unwrap_or_else(|| "0.0.0.0/0".to_owned()),
            })
        })
        .collect()
}

/// A default route of the gateway's address family.
pub(in super::super) fn default_route(next_hop: String) -> Route {
    let destination = match next_hop.contains(':') {
        true => "::/0",
        false => "0.0.0.0/0",
    };
    Route {
        next_hop,
        destination_prefix: destination.to_owned(),
    }
}
