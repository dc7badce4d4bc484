//! Routes and forwarding through the IP helper.
//!
//! Routes are not persistent: the service creates them again after a reboot, because
//! the interface index may differ then.
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

use super::failure::from_code;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub destination: IpAddr,
    pub prefix_length: u8,
    /// The next hop; unspecified for an on-link route.
    pub gateway: IpAddr,
    /// Interface index.
    pub interface: u32,
    pub metric: u32,
}

pub fn routes() -> Result<Vec<Route>, Failure> {
    let mut table: *mut MIB_IPFORWARD_TABLE2 = ptr::null_mut();
    // SAFETY: a writable pointer; the table is freed below.
    let code = unsafe { GetIpForwardTable2(0, &mut table) };
    if code == ERROR_NOT_FOUND {
        return Ok(Vec::new());
    }
    if code != ERROR_SUCCESS {
        return Err(from_code("list the routes", code));
    }
    // SAFETY: `NumEntries` rows start at `Table`.
    unsafe {
        let count = (*table).NumEntries as usize;
        let first = (&raw const (*table).Table).cast::<MIB_IPFORWARD_ROW2>();
        let found = (0..count).filter_map(|at| read(&*first.add(at))).collect();
        FreeMibTable(table.cast());
        Ok(found)
    }
}

/// Succeeds if the route exists.
pub fn add(route: &Route) -> Result<(), Failure> {
    let row = row(route);
    // SAFETY: a fully initialized row.
    match unsafe { CreateIpForwardEntry2(&row) } {
        ERROR_SUCCESS | ERROR_OBJECT_ALREADY_EXISTS => Ok(()),
        code => Err(from_code(
            format_args!("add the route {}", name(route)),
            code,
        )),
    }
}

/// Succeeds if the route is absent.
pub fn remove(route: &Route) -> Result<(), Failure> {
    let row = row(route);
    // SAFETY: a fully initialized row.
    match unsafe { DeleteIpForwardEntry2(&row) } {
        ERROR_SUCCESS | ERROR_NOT_FOUND => Ok(()),
        code => Err(from_code(
            format_args!("delete the route {}", name(route)),
            code,
        )),
    }
}

pub fn forwarding(interface: u32) -> Result<bool, Failure> {
    settings(interface).map(|row| row.ForwardingEnabled)
}

pub fn set_forwarding(interface: u32, enabled: bool) -> Result<(), Failure> {
    let mut row = settings(interface)?;
    row.ForwardingEnabled = enabled;
    write_settings(row, format_args!("set forwarding on interface {interface}"))
}

fn write_settings(mut row: MIB_IPINTERFACE_ROW, action: fmt::Arguments<'_>) -> Result<(), Failure> {
    // Read as 64, but rejected when written back for IPv4.
    row.SitePrefixLength = 0;
    // SAFETY: a fully initialized row.
    match unsafe { SetIpInterfaceEntry(&mut row) } {
        ERROR_SUCCESS => Ok(()),
        code => Err(from_code(action, code)),
    }
}

/// `None` for the automatic metric.
pub fn metric(interface: u32) -> Result<Option<u32>, Failure> {
    let row = settings(interface)?;
    Ok((!row.UseAutomaticMetric).then_some(row.Metric))
}

/// `None` sets the automatic metric.
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
    // SAFETY: a row with its key fields set.
    match unsafe { GetIpInterfaceEntry(&mut row) } {
        ERROR_SUCCESS => Ok(row),
        code => Err(from_code(
            format_args!("read the settings of interface {interface}"),
            code,
        )),
    }
}

fn name(route: &Route) -> String {
    format!(
        "{}/{} via {}",
        route.destination, route.prefix_length, route.gateway
    )
}

fn row(route: &Route) -> MIB_IPFORWARD_ROW2 {
    let mut row = MIB_IPFORWARD_ROW2::default();
    // SAFETY: a writable row; every BOOLEAN of a route is 0 or 1, so all values are
    // valid in Rust.
    unsafe { InitializeIpForwardEntry(&mut row) };
    row.InterfaceIndex = route.interface;
    row.DestinationPrefix.Prefix = socket_address(route.destination);
    row.DestinationPrefix.PrefixLength = route.prefix_length;
    row.NextHop = socket_address(route.gateway);
    row.Metric = route.metric;
    row.Protocol = MIB_IPPROTO_NETMGMT;
    row
}

fn read(row: &MIB_IPFORWARD_ROW2) -> Option<Route> {
    Some(Route {
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
    // SAFETY: both variants start with the family, which selects one.
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
