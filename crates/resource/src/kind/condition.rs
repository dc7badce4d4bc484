//! Conditions: what a `wait` waits for, and when a service is ready.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::HostPath;

/// Something that is true on a host, or not yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Condition {
    /// A named pipe has a server (`\\.\pipe\containerd-containerd`).
    NamedPipe(String),
    /// Somebody accepts connections there.
    TcpPort(SocketAddr),
    /// The path exists.
    FileExists(HostPath),
    /// The service is running.
    ServiceRunning(String),
    /// An interface has this address, and it can be used.
    Address(IpAddr),
    /// HNS has a network of this name.
    HnsNetwork(String),
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamedPipe(name) => write!(formatter, "the pipe `{name}` answers"),
            Self::TcpPort(address) => write!(formatter, "`{address}` accepts connections"),
            Self::FileExists(path) => write!(formatter, "`{path}` exists"),
            Self::ServiceRunning(name) => write!(formatter, "service `{name}` runs"),
            Self::Address(address) => write!(formatter, "the host has the address `{address}`"),
            Self::HnsNetwork(name) => write!(formatter, "HNS has the network `{name}`"),
        }
    }
}

/// A condition as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ConditionFacts {
    /// It is so.
    Holds,
    /// Not yet; with what is there instead.
    NotYet(String),
}
