//! Endpoint policies on Windows, in both formats.
//!
//! HNS v1 has flat values; HCN (v2) has them below `Settings` with other names.
//! Docker only reads v1; the plugins of containerd read v2 with `apiVersion: 2`.
//! Values in the wrong format are silently ignored.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;
use serde::ser::Serializer;

/// The HNS API that reads a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// HNS v1: Docker, and Windows before 1809.
    Hns,
    /// HCN (schema 2): containerd.
    Hcn,
}

impl Dialect {
    /// `apiVersion` of the reference plugins; v1 is their default.
    pub fn api_version(self) -> Option<u8> {
        match self {
            Self::Hns => None,
            Self::Hcn => Some(2),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointPolicy {
    /// NAT for outgoing packets, except to these networks.
    OutboundNat(Vec<Ipv4Net>),
    /// Packets to this network go through the host, where services are handled.
    Encapsulated(Ipv4Net),
    /// The tunnel address of the host.
    ProviderAddress(Ipv4Addr),
}

#[derive(Serialize)]
#[serde(tag = "Type")]
enum V1<'a> {
    #[serde(rename = "OutBoundNAT")]
    OutboundNat {
        #[serde(rename = "ExceptionList")]
        exceptions: &'a [Ipv4Net],
    },
    #[serde(rename = "ROUTE", rename_all = "PascalCase")]
    Route {
        destination_prefix: Ipv4Net,
        need_encap: bool,
    },
    #[serde(rename = "PA")]
    Provider {
        #[serde(rename = "PA")]
        address: Ipv4Addr,
    },
}

#[derive(Serialize)]
#[serde(tag = "Type", content = "Settings")]
enum V2<'a> {
    #[serde(rename = "OutBoundNAT", rename_all = "PascalCase")]
    OutboundNat { exceptions: &'a [Ipv4Net] },
    #[serde(rename = "SDNRoute", rename_all = "PascalCase")]
    Route {
        destination_prefix: Ipv4Net,
        need_encap: bool,
    },
    #[serde(rename = "ProviderAddress", rename_all = "PascalCase")]
    Provider { provider_address: Ipv4Addr },
}

impl EndpointPolicy {
    fn v1(&self) -> V1<'_> {
        match self {
            Self::OutboundNat(exceptions) => V1::OutboundNat { exceptions },
            Self::Encapsulated(prefix) => V1::Route {
                destination_prefix: *prefix,
                need_encap: true,
            },
            Self::ProviderAddress(address) => V1::Provider { address: *address },
        }
    }

    fn v2(&self) -> V2<'_> {
        match self {
            Self::OutboundNat(exceptions) => V2::OutboundNat { exceptions },
            Self::Encapsulated(prefix) => V2::Route {
                destination_prefix: *prefix,
                need_encap: true,
            },
            Self::ProviderAddress(address) => V2::Provider {
                provider_address: *address,
            },
        }
    }

    pub fn to_dialect(self, dialect: Dialect) -> PluginPolicy {
        PluginPolicy {
            name: "EndpointPolicy",
            value: VersionedPolicy {
                policy: self,
                dialect,
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginPolicy {
    name: &'static str,
    value: VersionedPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct VersionedPolicy {
    policy: EndpointPolicy,
    dialect: Dialect,
}

impl Serialize for VersionedPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.dialect {
            Dialect::Hns => self.policy.v1().serialize(serializer),
            Dialect::Hcn => self.policy.v2().serialize(serializer),
        }
    }
}
