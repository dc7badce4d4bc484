//! Routes, addresses and interface settings.
//!
//! Interfaces are identified by their index, which is the same in Wine and Linux.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The calls of `iphlpapi.dll`. Only [`Interface`](AdapterCall::Interface) returns a
/// value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AdapterCall {
    /// `CreateIpForwardEntry2`.
    CreateRoute(Route),
    /// `SetIpForwardEntry2`; changes the metric.
    SetRoute(Route),
    /// `DeleteIpForwardEntry2`; ignores the metric.
    DeleteRoute(Route),
    /// `CreateUnicastIpAddressEntry`.
    CreateAddress(Address),
    /// `DeleteUnicastIpAddressEntry`; ignores the prefix length.
    DeleteAddress(Address),
    /// `GetIpInterfaceEntry`; returns [`InterfaceSettings`].
    Interface(Interface),
    /// `SetIpInterfaceEntry`.
    SetInterface(Interface, InterfaceChange),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The network address of the destination.
    pub destination: IpAddr,
    pub prefix_length: u8,
    /// The gateway; the unspecified address for an on-link destination.
    pub next_hop: IpAddr,
    /// Interface index.
    pub interface: u32,
    /// Without the metric of the interface.
    pub metric: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    pub address: IpAddr,
    /// Length of the on-link prefix.
    pub prefix_length: u8,
    /// Interface index.
    pub interface: u32,
}

/// An interface has separate settings for IPv4 and IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Interface index.
    pub index: u32,
    pub family: Family,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Family {
    V4,
    V6,
}

/// The supported fields of `MIB_IPINTERFACE_ROW`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceSettings {
    /// Whether packets are forwarded.
    pub forwarding: bool,
    /// Whether packets may be sent with the address of another interface.
    pub weak_host_send: bool,
    /// Whether packets to the address of another interface are accepted.
    pub weak_host_receive: bool,
    /// Whether Windows chooses the metric.
    pub automatic_metric: bool,
    /// Added to the metric of each route.
    pub metric: u32,
    pub mtu: u32,
    /// Whether the link is up.
    pub connected: bool,
}

/// New settings; `None` keeps the current value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceChange {
    pub forwarding: Option<bool>,
    pub weak_host_send: Option<bool>,
    pub weak_host_receive: Option<bool>,
    pub automatic_metric: Option<bool>,
    pub metric: Option<u32>,
    pub mtu: Option<u32>,
}
