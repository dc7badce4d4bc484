//! Routes, addresses and interface settings.
//!
//! Interfaces are meant by their index, which is the same number on both
//! sides: Wine shows Linux's.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What `iphlpapi.dll` asks for. Nothing is answered but by
/// [`Interface`](AdapterCall::Interface).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AdapterCall {
    /// `CreateIpForwardEntry2`.
    CreateRoute(Route),
    /// `SetIpForwardEntry2`: another metric.
    SetRoute(Route),
    /// `DeleteIpForwardEntry2`; the metric does not matter.
    DeleteRoute(Route),
    /// `CreateUnicastIpAddressEntry`.
    CreateAddress(Address),
    /// `DeleteUnicastIpAddressEntry`; the prefix does not matter.
    DeleteAddress(Address),
    /// `GetIpInterfaceEntry`; answers [`Settings`].
    Interface(Interface),
    /// `SetIpInterfaceEntry`.
    SetInterface(Interface, Change),
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// First address of the destination.
    pub destination: IpAddr,
    /// Length of the destination's prefix.
    pub prefix_length: u8,
    /// The gateway; unspecified where the destination is on the link.
    pub next_hop: IpAddr,
    /// Index of the interface.
    pub interface: u32,
    /// The route's own metric, without the interface's.
    pub metric: u32,
}

/// One address of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// Length of the prefix that is on the link.
    pub prefix_length: u8,
    /// Index of the interface.
    pub interface: u32,
}

/// One interface as one of the two protocols sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Index of the interface.
    pub index: u32,
    /// Which protocol.
    pub family: Family,
}

/// The protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Family {
    V4,
    V6,
}

/// What `MIB_IPINTERFACE_ROW` says of an interface, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Whether packets are passed on.
    pub forwarding: bool,
    /// Whether packets may leave with another interface's address.
    pub weak_host_send: bool,
    /// Whether packets for another interface's address are taken.
    pub weak_host_receive: bool,
    /// Whether Windows chose the metric.
    pub automatic_metric: bool,
    /// Added to the metric of each route.
    pub metric: u32,
    /// Largest packet.
    pub mtu: u32,
    /// Whether the link is up.
    pub connected: bool,
}

/// New settings; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "as in Settings")]
pub struct Change {
    pub forwarding: Option<bool>,
    pub weak_host_send: Option<bool>,
    pub weak_host_receive: Option<bool>,
    pub automatic_metric: Option<bool>,
    pub metric: Option<u32>,
    pub mtu: Option<u32>,
}
