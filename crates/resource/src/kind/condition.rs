//! Conditions for `wait` steps and service readiness.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::HostPath;

/// A condition on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Condition {
    /// A named pipe has a server (`\\.\pipe\containerd-containerd`).
    NamedPipe(String),
    /// A TCP connection succeeds.
    TcpPort(SocketAddr),
    FileExists(HostPath),
    ServiceRunning(String),
    /// An interface has this address, and it is usable.
    Address(IpAddr),
    /// HNS has a network with this name.
    HnsNetwork(String),
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamedPipe(name) => write!(formatter, "the pipe `{name}` accepts connections"),
            Self::TcpPort(address) => write!(formatter, "`{address}` accepts connections"),
            Self::FileExists(path) => write!(formatter, "`{path}` exists"),
            Self::ServiceRunning(name) => write!(formatter, "service `{name}` is running"),
            Self::Address(address) => write!(formatter, "the host has the address `{address}`"),
            Self::HnsNetwork(name) => write!(formatter, "the HNS network `{name}` exists"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ConditionFacts {
    /// The condition is met.
    Holds,
    /// Not met; with the actual state.
    NotYet(String),
}
