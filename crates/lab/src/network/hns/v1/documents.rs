//! The v1 documents of networks and endpoints: ids are in upper case, types in the
//! caller's case.

use lab_wire::Failure;
use serde_json::{Value, json};

use super::super::document;
use super::super::model::{Endpoint, Network, Policy, Subnet};
use super::super::store::Store;

/// Network state: up.
const UP: u32 = 1;
/// Endpoint states.
const CREATED: u32 = 1;
const ATTACHED: u32 = 2;
const ATTACHED_SHARING: u32 = 3;
const DETACHED: u32 = 4;
/// From 1601, the start of Windows file times, to 1970, in milliseconds.
const FILE_TIME_OFFSET: u64 = 11_644_473_600_000;

impl Store {
    pub(in super::super) fn v1_network(&self, network: &Network, now: u64) -> Value {
        let adapter = network
            .policy("NetAdapterName")
            .and_then(|settings| document::text(settings, "NetworkAdapterName"));
        let mut document = json!({
            "ID": network.id.to_ascii_uppercase(),
            "Name": network.name,
            "Type": network.spelling,
            "Policies": network.policies.iter().map(Policy::v1_document).collect::<Vec<_>>(),
            "MacPools": network.mac_pools,
            "Subnets": network.subnets.iter().map(v1_subnet).collect::<Vec<_>>(),
            "DNSSuffix": joined(&network.dns, "Search"),
            "DNSServerList": joined(&network.dns, "ServerList"),
            "Flags": network.flags,
            "State": UP,
            "Version": self.config.version.packed(),
            "Health": {"LastErrorCode": 0, "LastUpdateTime": (network.created_at + FILE_TIME_OFFSET) * 10_000},
            "Extensions": [],
        });
        if let Some(fields) = document.as_object_mut() {
            if network.kind.is_external() {
                let adapter = adapter.unwrap_or_else(|| self.config.nic.clone());
                fields.insert("NetworkAdapterName".to_owned(), json!(adapter));
            }
            if self.has_host_address(network, now) {
                fields.insert("ManagementIP".to_owned(), json!(self.config.management_ip));
            }
            if let Some(mac) = network.dr_mac {
                fields.insert("DrMacAddress".to_owned(), json!(mac));
            }
        }
        document
    }

    pub(in super::super) fn v1_endpoint(&self, endpoint: &Endpoint) -> Value {
        let network = self.network(&endpoint.network);
        let mut document = json!({
            "ID": endpoint.id.to_ascii_uppercase(),
            "Name": endpoint.name,
            "VirtualNetwork": endpoint.network.to_ascii_uppercase(),
            "VirtualNetworkName": network.map(|it| it.name.clone()).unwrap_or_default(),
            "Policies": endpoint.policies.iter().map(Policy::v1_document).collect::<Vec<_>>(),
            "MacAddress": endpoint.mac,
            "GatewayAddress": endpoint.routes.first().map_or("", |route| &route.next_hop),
            "DNSSuffix": joined(&endpoint.dns, "Search"),
            "DNSServerList": joined(&endpoint.dns, "ServerList"),
            "IsRemoteEndpoint": endpoint.is_remote(),
            "SharedContainers": endpoint.containers,
            "State": state(endpoint),
            "Version": self.config.version.packed(),
        });
        if let Some(fields) = document.as_object_mut() {
            for config in &endpoint.addresses {
                let (address, length) = match config.ip_address.contains(':') {
                    true => ("IPv6Address", "IPv6PrefixLength"),
                    false => ("IPAddress", "PrefixLength"),
                };
                fields.insert(address.to_owned(), json!(config.ip_address));
                fields.insert(length.to_owned(), json!(config.prefix_length));
            }
            let namespace = endpoint.namespace.as_ref();
            if let Some(namespace) = namespace.and_then(|id| self.namespace(id).ok()) {
                fields.insert("Namespace".to_owned(), namespace.v1_document());
            }
        }
        document
    }

    /// All counters are 0; callers only need the fields.
    pub(super) fn v1_statistics(&self, id: &str) -> Result<Value, Failure> {
        let endpoint = self.endpoint(id)?;
        Ok(json!({
            "BytesReceived": 0,
            "BytesSent": 0,
            "DroppedPacketsIncoming": 0,
            "DroppedPacketsOutgoing": 0,
            "EndpointId": endpoint.id.to_ascii_uppercase(),
            "InstanceId": endpoint.id.to_ascii_uppercase(),
            "PacketsReceived": 0,
            "PacketsSent": 0,
        }))
    }
}

fn v1_subnet(subnet: &Subnet) -> Value {
    json!({
        "AddressPrefix": subnet.prefix,
        "GatewayAddress": subnet.routes.first().map_or("", |route| &route.next_hop),
        "Policies": subnet.policies.iter().map(Policy::v1_document).collect::<Vec<_>>(),
    })
}

fn joined(dns: &Value, field: &str) -> String {
    document::texts(dns, field).join(",")
}

fn state(endpoint: &Endpoint) -> u32 {
    match (&endpoint.namespace, endpoint.containers.len()) {
        (_, 2..) => ATTACHED_SHARING,
        (Some(_), _) | (_, 1) => ATTACHED,
        (None, _) if endpoint.was_attached => DETACHED,
        _ => CREATED,
    }
}
