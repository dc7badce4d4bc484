//! Routes and forwarding through the IP helper.
//!
//! Routes made here last until the host restarts; the service makes them
//! again, since the interface that they go through is another one then.
#![allow(unsafe_code, reason = "the IP helper of the Windows API")]

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::ptr;

use casement_resource::Failure;
use windows_sys::Win32::Foundation::{ERROR_NOT_FOUND, ERROR_OBJECT_ALREADY_EXISTS, ERROR_SUCCESS};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    CreateIpForwardEntry2, DeleteIpForwardEntry2, FreeMibTable, GetIpForwardTable2,
    GetIpInterfaceEntry, InitializeIpForwardEntry, MIB_IPFORWARD_ROW2, MIB_IPFORWARD_TABLE2,
    MIB_IPINTERFACE_ROW, SetIpInterfaceEntry,
};
use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, IN_ADDR, IN_ADDR_0, IN6_ADDR, IN6_ADDR_0, MIB_IPPROTO_NETMGMT, SOCKADDR_IN,
    SOCKADDR_IN6, SOCKADDR_INET,
};

use super::failure::refused;

/// Where packets for a network go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// First address of the destination.
    pub destination: IpAddr,
    /// Length of the destination's prefix.
    pub prefix_length: u8,
    /// The neighbour that takes them on.
    pub gateway: IpAddr,
    /// The adapter that they leave by.
    pub interface: u32,
    /// The lower, the better.
    pub metric: u32,
}

/// All routes of the host.
pub fn routes() -> Result<Vec<Hop>, Failure> {
    let mut table: *mut MIB_IPFORWARD_TABLE2 = ptr::null_mut();
    // SAFETY: a place for the table, which is freed below.
    let code = unsafe { GetIpForwardTable2(0, &mut table) };
    if code == ERROR_NOT_FOUND {
        return Ok(Vec::new());
    }
    if code != ERROR_SUCCESS {
        return Err(refused("list the routes", code));
    }
    // SAFETY: Windows says how many rows follow the first.
    unsafe {
        let count = (*table).NumEntries as usize;
        let first = (&raw const (*table).Table).cast::<MIB_IPFORWARD_ROW2>();
        let found = (0..count).filter_map(|at| read(&*first.add(at))).collect();
        FreeMibTable(table.cast());
        Ok(found)
    }
}

/// Makes a route; one that is there already is no failure.
pub fn add(hop: &Hop) -> Result<(), Failure> {
    let row = row(hop);
    // SAFETY: a whole row.
    match unsafe { CreateIpForwardEntry2(&row) } {
        ERROR_SUCCESS | ERROR_OBJECT_ALREADY_EXISTS => Ok(()),
        code => Err(refused(format_args!("make the route {}", name(hop)), code)),
    }
}

/// Deletes a route; one that is not there is deleted already.
pub fn remove(hop: &Hop) -> Result<(), Failure> {
    let row = row(hop);
    // SAFETY: a whole row.
    match unsafe { DeleteIpForwardEntry2(&row) } {
        ERROR_SUCCESS | ERROR_NOT_FOUND => Ok(()),
        code => Err(refused(
            format_args!("delete the route {}", name(hop)),
            code,
        )),
    }
}

/// Whether an interface passes on packets that are not for the host.
pub fn forwarding(interface: u32) -> Result<bool, Failure> {
    settings(interface).map(|row| row.ForwardingEnabled)
}

/// Sets whether an interface passes packets on.
pub fn set_forwarding(interface: u32, enabled: bool) -> Result<(), Failure> {
    let mut row = settings(interface)?;
    row.ForwardingEnabled = enabled;
    write_settings(row, format_args!("set forwarding on interface {interface}"))
}

fn write_settings(mut row: MIB_IPINTERFACE_ROW, doing: fmt::Arguments<'_>) -> Result<(), Failure> {
    // Read as 64, and then refused when written back for IPv4.
    row.SitePrefixLength = 0;
    // SAFETY: a whole row.
    match unsafe { SetIpInterfaceEntry(&mut row) } {
        ERROR_SUCCESS => Ok(()),
        code => Err(refused(doing, code)),
    }
}

/// The metric that somebody gave an interface; none where Windows decides.
pub fn metric(interface: u32) -> Result<Option<u32>, Failure> {
    let row = settings(interface)?;
    Ok((!row.UseAutomaticMetric).then_some(row.Metric))
}

/// Gives an interface a metric of its own, or leaves it to Windows.
pub fn set_metric(interface: u32, metric: Option<u32>) -> Result<(), Failure> {
    let mut row = settings(interface)?;
    row.UseAutomaticMetric = metric.is_none();
    row.Metric = metric.unwrap_or(row.Metric);
    write_settings(row, format_args!("set the metric of interface {interface}"))
}

fn settings(interface: u32) -> Result<MIB_IPINTERFACE_ROW, Failure> {
    let mut row = MIB_IPINTERFACE_ROW {
        Family: AF_INET,
        InterfaceIndex: interface,
        ..Default::default()
    };
    // SAFETY: a row with its key.
    match unsafe { GetIpInterfaceEntry(&mut row) } {
        ERROR_SUCCESS => Ok(row),
        code => Err(refused(
            format_args!("read the settings of interface {interface}"),
            code,
        )),
    }
}

fn name(hop: &Hop) -> String {
    format!(
        "{}/{} through {}",
        hop.destination, hop.prefix_length, hop.gateway
    )
}

fn row(hop: &Hop) -> MIB_IPFORWARD_ROW2 {
    let mut row = MIB_IPFORWARD_ROW2::default();
    // SAFETY: a row to be filled; all its values are defined for Rust, since a
    // route's truth values are bytes of 0 or 1.
    unsafe { InitializeIpForwardEntry(&mut row) };
    row.InterfaceIndex = hop.interface;
    row.DestinationPrefix.Prefix = socket_address(hop.destination);
    row.DestinationPrefix.PrefixLength = hop.prefix_length;
    row.NextHop = socket_address(hop.gateway);
    row.Metric = hop.metric;
    row.Protocol = MIB_IPPROTO_NETMGMT;
    row
}

fn read(row: &MIB_IPFORWARD_ROW2) -> Option<Hop> {
    Some(Hop {
        destination: address(&row.DestinationPrefix.Prefix)?,
        prefix_length: row.DestinationPrefix.PrefixLength,
        gateway: address(&row.NextHop)?,
        interface: row.InterfaceIndex,
        metric: row.Metric,
    })
}

pub(super) fn socket_address(address: IpAddr) -> SOCKADDR_INET {
    match address {
        IpAddr::V4(address) => SOCKADDR_INET {
            Ipv4: SOCKADDR_IN {
                sin_family: AF_INET,
                sin_addr: IN_ADDR {
                    S_un: IN_ADDR_0 {
                        S_addr: u32::from_ne_bytes(address.octets()),
                    },
                },
                ..Default::default()
            },
        },
        IpAddr::V6(address) => SOCKADDR_INET {
            Ipv6: SOCKADDR_IN6 {
                sin6_family: AF_INET6,
                sin6_addr: IN6_ADDR {
                    u: IN6_ADDR_0 {
                        Byte: address.octets(),
                    },
                },
                ..Default::default()
            },
        },
    }
}

fn address(address: &SOCKADDR_INET) -> Option<IpAddr> {
    // SAFETY: both sides begin with the family, which says which it is.
    unsafe {
        match address.si_family {
            AF_INET => {
                let bits = address.Ipv4.sin_addr.S_un.S_addr;
                Some(Ipv4Addr::from(bits.to_ne_bytes()).into())
            }
            AF_INET6 => Some(IpAddr::from(address.Ipv6.sin6_addr.u.Byte)),
            _ => None,
        }
    }
}
