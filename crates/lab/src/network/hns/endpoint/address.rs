//! Addresses of endpoints, requested by the caller or allocated by HNS.

use std::net::IpAddr;

use ipnet::IpNet;
use lab_wire::Failure;
use serde_json::Value;

use super::super::document;
use super::super::failure;
use super::super::model::{IpConfig, Network, Subnet};
use super::super::store::Store;

/// Subnet flag: the gateway's address may be used by an endpoint.
const GATEWAY_NOT_RESERVED: u32 = 1;

impl Store {
    /// The validated addresses of a document, or a newly allocated one.
    pub(super) fn read_addresses(
        &self,
        network: &Network,
        settings: &Value,
        remote: bool,
    ) -> Result<Vec<IpConfig>, Failure> {
        let requested = requested_addresses(settings);
        if requested.is_empty() {
            return match remote {
                true => Err(failure::invalid_endpoint()),
                false => self.free_address(network).map(|address| vec![address]),
            };
        }
        requested
            .into_iter()
            .map(|(text, length)| {
                let address: IpAddr = text.parse().map_err(|_| failure::invalid_ip())?;
                let subnet = network.subnet_of(address);
                if !remote {
                    self.check_address(network, subnet, address)?;
                }
                let full_length = if address.is_ipv4() { 32 } else { 128 };
                let of_subnet = subnet.and_then(Subnet::net).map(|net| net.prefix_len());
                Ok(IpConfig {
                    ip_address: text,
                    prefix_length: length.or(of_subnet).unwrap_or(full_length),
                })
            })
            .collect()
    }

    /// A local address must be in a subnet and unused. Addresses of remote endpoints
    /// are not checked: they may be outside of all subnets or equal a local one.
    fn check_address(
        &self,
        network: &Network,
        subnet: Option<&Subnet>,
        address: IpAddr,
    ) -> Result<(), Failure> {
        let subnet = match subnet {
            Some(subnet) => subnet,
            None if network.ipam.eq_ignore_ascii_case("DHCP") => return Ok(()),
            None => return Err(failure::invalid_ip()),
        };
        match reserved(subnet, address) || self.is_taken(network, address) {
            true => Err(failure::object_exists()),
            false => Ok(()),
        }
    }

    fn is_taken(&self, network: &Network, address: IpAddr) -> bool {
        self.state
            .endpoints
            .iter()
            .filter(|it| it.network == network.id && !it.is_remote())
            .flat_map(|it| &it.addresses)
            .any(|it| it.ip_address.parse() == Ok(address))
    }

    /// The first unused address of any subnet. Skips the lowest address, which is the
    /// gateway by convention.
    fn free_address(&self, network: &Network) -> Result<IpConfig, Failure> {
        let subnets = network.subnets.iter();
        let mut candidates = subnets
            .filter_map(|subnet| Some((subnet, subnet.net()?)))
            .flat_map(|(subnet, net)| {
                let hosts = net.hosts().skip(1);
                let hosts = hosts.filter(move |address| !reserved(subnet, *address));
                hosts.map(move |address| (address, net.prefix_len()))
            });
        let free = candidates.find(|(address, _)| !self.is_taken(network, *address));
        let (address, prefix_length) = free.ok_or_else(failure::subnet_not_found)?;
        Ok(IpConfig {
            ip_address: address.to_string(),
            prefix_length,
        })
    }
}

/// Text and prefix length, from v2 and v1 fields.
fn requested_addresses(settings: &Value) -> Vec<(String, Option<u8>)> {
    let length = |document: &Value, name: &str| {
        let length = document::number(document, name).filter(|length| *length != 0);
        length.and_then(|length| u8::try_from(length).ok())
    };
    let v2 = document::list(settings, "IpConfigurations").iter();
    let v2 = v2.filter_map(|config| {
        let text = document::text(config, "IpAddress")?;
        Some((text, length(config, "PrefixLength")))
    });
    let v1 = [
        ("IPAddress", "PrefixLength"),
        ("IPv6Address", "IPv6PrefixLength"),
    ];
    let v1 = v1.into_iter().filter_map(|(address, prefix)| {
        let text = document::text(settings, address)?;
        Some((text, length(settings, prefix)))
    });
    v2.chain(v1).collect()
}

fn reserved(subnet: &Subnet, address: IpAddr) -> bool {
    subnet.flags & GATEWAY_NOT_RESERVED == 0 && subnet.gateway() == Some(address)
}

impl IpConfig {
    pub fn net(&self) -> Option<IpNet> {
        IpNet::new(self.ip_address.parse().ok()?, self.prefix_length).ok()
    }
}
