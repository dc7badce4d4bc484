//! `forwarding`: an interface that passes on packets which are not its own.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// An interface, named by what it is for: names and numbers are not stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum InterfaceRef {
    /// The one that has this address.
    Address(IpAddr),
    /// The host's adapter on this HNS network.
    HnsNetwork(String),
    /// All of them, and those to come (Linux).
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

/// Forwarding that should be on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Forwarding {
    /// On which interface.
    pub interface: InterfaceRef,
}

/// Forwarding as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForwardingFacts {
    /// Whether it is on; none if there is no such interface.
    pub enabled: Option<bool>,
}

impl Forwarding {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &ForwardingFacts) -> Diff {
        match facts.enabled {
            Some(true) => Diff::right(format!("on for {}", self.interface)),
            Some(false) => Diff::Changes(vec![Change::field("forwarding", "off", "on")]),
            None => Diff::Changes(vec![Change::missing("forwarding", "on")]),
        }
    }
}
