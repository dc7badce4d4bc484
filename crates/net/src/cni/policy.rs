//! Policies of an endpoint on Windows, in both dialects.
//!
//! HNS's first interface has flat values, the second (HCN) puts them below
//! `Settings` under other names. Docker's path reads only the first; containerd's
//! plugins read the second when they are told `apiVersion: 2`. A value in the
//! wrong dialect is not an error: it is ignored.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;
use serde::ser::Serializer;

/// Which of the two interfaces of HNS is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The first: Docker, and Windows before 1809.
    Hns,
    /// The second: containerd.
    Hcn,
}

impl Dialect {
    /// What the reference plugins call it; the first is their default.
    pub fn api_version(self) -> Option<u8> {
        match self {
            Self::Hns => None,
            Self::Hcn => Some(2),
        }
    }
}

/// What HNS should do with a pod's packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointPolicy {
    /// Packets that leave get the host's address, but not those to these.
    OutboundNat(Vec<Ipv4Net>),
    /// Packets to these leave by the host, which answers for services.
    Encapsulated(Ipv4Net),
    /// The host's address, which other hosts tunnel to.
    ProviderAddress(Ipv4Addr),
}

#[derive(Serialize)]
#[serde(tag = "Type")]
enum First<'a> {
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
enum Second<'a> {
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
    fn first(&self) -> First<'_> {
        match self {
            Self::OutboundNat(exceptions) => First::OutboundNat { exceptions },
            Self::Encapsulated(prefix) => First::Route {
                destination_prefix: *prefix,
                need_encap: true,
            },
            Self::ProviderAddress(address) => First::Provider { address: *address },
        }
    }

    fn second(&self) -> Second<'_> {
        match self {
            Self::OutboundNat(exceptions) => Second::OutboundNat { exceptions },
            Self::Encapsulated(prefix) => Second::Route {
                destination_prefix: *prefix,
                need_encap: true,
            },
            Self::ProviderAddress(address) => Second::Provider {
                provider_address: *address,
            },
        }
    }

    /// The policy as a plugin's configuration holds it.
    pub fn in_dialect(self, dialect: Dialect) -> PluginPolicy {
        PluginPolicy {
            name: "EndpointPolicy",
            value: Spoken {
                policy: self,
                dialect,
            },
        }
    }
}

/// An entry of a plugin's `policies`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginPolicy {
    name: &'static str,
    value: Spoken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Spoken {
    policy: EndpointPolicy,
    dialect: Dialect,
}

impl Serialize for Spoken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.dialect {
            Dialect::Hns => self.policy.first().serialize(serializer),
            Dialect::Hcn => self.policy.second().serialize(serializer),
        }
    }
}
