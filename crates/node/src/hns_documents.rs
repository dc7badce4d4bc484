//! HNS objects as [`casement_net::hns`] describes them, with what only the host knows: its
//! adapter and the ids of networks. The documents that HNS gets come from there, as those
//! that `casement render hns` shows.

use casement_net::Deferred;
use casement_net::hns::{EndpointSpec, NetworkSpec, NetworkType};
use casement_resource::{HnsNetwork, HnsNetworkType};

use crate::platform::NewEndpoint;

/// A network on the adapter with this name.
pub(crate) fn network(network: &HnsNetwork, adapter: &str) -> NetworkSpec {
    NetworkSpec {
        name: network.name.clone(),
        network_type: match network.network_type {
            HnsNetworkType::L2Bridge => NetworkType::L2Bridge,
            HnsNetworkType::Overlay => NetworkType::Overlay,
        },
        subnet: Deferred::Known(network.subnet),
        gateway: Deferred::Known(network.gateway),
        isolation: network.isolation,
        adapter: Deferred::Known(adapter.to_owned()),
    }
}

pub(crate) fn endpoint(endpoint: &NewEndpoint) -> EndpointSpec {
    EndpointSpec {
        name: endpoint.name.clone(),
        network_id: Deferred::Known(endpoint.network_id.clone()),
        address: Deferred::Known(endpoint.address),
    }
}

#[cfg(test)]
mod tests;
