//! HNS v1 documents.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;

use super::{EndpointSpec, NetworkSpec, NetworkType};
use crate::Deferred;

/// An overlay: HNS v1 supports bridges only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the overlay network `{0}` needs HNS v2, which Windows has since Server 2019")]
pub struct NeedsV2(pub String);

/// The body of `POST /networks/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NetworkV1 {
    name: String,
    #[serde(rename = "Type")]
    network_type: NetworkType,
    network_adapter_name: Deferred<String>,
    subnets: [SubnetV1; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct SubnetV1 {
    address_prefix: Deferred<IpNet>,
    gateway_address: Deferred<IpAddr>,
}

impl TryFrom<&NetworkSpec> for NetworkV1 {
    type Error = NeedsV2;

    fn try_from(spec: &NetworkSpec) -> Result<Self, NeedsV2> {
        match spec.network_type {
            NetworkType::Overlay => Err(NeedsV2(spec.name.clone())),
            NetworkType::L2Bridge => Ok(Self {
                name: spec.name.clone(),
                network_type: spec.network_type,
                network_adapter_name: spec.adapter.clone(),
                subnets: [SubnetV1 {
                    address_prefix: spec.subnet,
                    gateway_address: spec.gateway,
                }],
            }),
        }
    }
}

/// The body of `POST /endpoints/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EndpointV1 {
    name: String,
    virtual_network: Deferred<String>,
    #[serde(rename = "IPAddress")]
    ip_address: Deferred<IpAddr>,
}

impl From<&EndpointSpec> for EndpointV1 {
    fn from(spec: &EndpointSpec) -> Self {
        Self {
            name: spec.name.clone(),
            virtual_network: spec.network_id.clone(),
            ip_address: spec.address,
        }
    }
}

/// The body of `POST /endpoints/{id}/attach` for the network compartment of the host; the
/// agent sends it on every Windows release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AttachToHost {
    system_type: &'static str,
    compartment_id: u32,
}

impl AttachToHost {
    pub const DEFAULT_COMPARTMENT: Self = Self {
        system_type: "Host",
        compartment_id: 1,
    };
}
