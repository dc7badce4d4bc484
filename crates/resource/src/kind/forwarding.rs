//! `forwarding`: IP forwarding on an interface.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// Identified by purpose: interface names and indexes are not stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum InterfaceRef {
    /// The one that has this address.
    Address(IpAddr),
    /// The host's adapter on this HNS network.
    HnsNetwork(String),
    /// All current and future interfaces (Linux).
    Every,
}

impl fmt::Display for InterfaceRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(formatter, "the interface with {address}"),
            Self::HnsNetwork(name) => write!(formatter, "the adapter of HNS network {name}"),
            Self::Every => formatter.write_str("every interface"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Forwarding {
    pub interface: InterfaceRef,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForwardingFacts {
    /// None if the interface does not exist.
    pub enabled: Option<bool>,
}

impl Forwarding {
    #[must_use]
    pub fn diff(&self, facts: &ForwardingFacts) -> Diff {
        match facts.enabled {
            Some(true) => Diff::unchanged(format!("on for {}", self.interface)),
            Some(false) => Diff::Changes(vec![Change::field("forwarding", "off", "on")]),
            None => Diff::Changes(vec![Change::missing("forwarding", "on")]),
        }
    }
}
