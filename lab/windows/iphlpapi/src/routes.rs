//! IP routes.

use std::ptr::null_mut;
use std::slice;

use lab_wire::adapter::{AdapterCall, Route};
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, ERROR_NOT_FOUND, WIN32_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::{MIB_IPFORWARD_ROW2, MIB_IPFORWARD_TABLE2};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_UNSPEC, MIB_IPPROTO_NETMGMT};

use crate::netd::{call, code};
use crate::{sockaddr, wine};

/// In an initialized row, a field that the caller must set.
const UNSET: u32 = u32::MAX;

/// Fills a row with the defaults of Windows.
///
/// # Safety
///
/// `row` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn InitializeIpForwardEntry(row: *mut MIB_IPFORWARD_ROW2) {
    let defaults = MIB_IPFORWARD_ROW2 {
        ValidLifetime: UNSET,
        PreferredLifetime: UNSET,
        Metric: UNSET,
        Protocol: MIB_IPPROTO_NETMGMT,
        Loopback: true,
        AutoconfigureAddress: true,
        Publish: true,
        Immortal: true,
        ..Default::default()
    };
    // SAFETY: guaranteed by the caller.
    unsafe { row.write(defaults) };
}

/// # Safety
///
/// `row` must be null or valid, as for the functions below.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateIpForwardEntry2(row: *const MIB_IPFORWARD_ROW2) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { route(row) }.and_then(|route| call(AdapterCall::CreateRoute(route))))
}

/// Changes the metric of a route.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn SetIpForwardEntry2(row: *const MIB_IPFORWARD_ROW2) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { route(row) }.and_then(|route| call(AdapterCall::SetRoute(route))))
}

/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DeleteIpForwardEntry2(row: *const MIB_IPFORWARD_ROW2) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { route(row) }.and_then(|route| call(AdapterCall::DeleteRoute(route))))
}

/// Fills in a row that identifies a route by destination, gateway and interface.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIpForwardEntry2(row: *mut MIB_IPFORWARD_ROW2) -> WIN32_ERROR {
    // SAFETY: the caller guarantees the row; the table is valid until freed.
    unsafe {
        let wanted = match route(row) {
            Ok(wanted) => wanted,
            Err(error) => return error,
        };
        let mut table: *mut MIB_IPFORWARD_TABLE2 = null_mut();
        match GetIpForwardTable2(AF_UNSPEC, &mut table) {
            0 => {}
            error => return error,
        }
        let first = (&raw const (*table).Table).cast::<MIB_IPFORWARD_ROW2>();
        let rows = slice::from_raw_parts(first, (*table).NumEntries as usize);
        let found = rows
            .iter()
            .find(|&row| route(row).is_ok_and(|candidate| same_route(&candidate, &wanted)))
            .copied();
        wine::FreeMibTable(table.cast());
        match found {
            Some(found) => {
                *row = found;
                0
            }
            None => ERROR_NOT_FOUND,
        }
    }
}

/// Wine parses the decimal metrics of `/proc/net/route` as hexadecimal, so that
/// 25 becomes 37; this function corrects them.
///
/// # Safety
///
/// `table` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIpForwardTable2(
    family: u16,
    table: *mut *mut MIB_IPFORWARD_TABLE2,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments; on success the table has
    // `NumEntries` rows.
    unsafe {
        let result = wine::GetIpForwardTable2(family, table);
        if result == 0 {
            let first = (&raw mut (**table).Table).cast::<MIB_IPFORWARD_ROW2>();
            let rows = slice::from_raw_parts_mut(first, (**table).NumEntries as usize);
            for row in rows {
                if row.DestinationPrefix.Prefix.si_family == AF_INET {
                    row.Metric = format!("{:x}", row.Metric).parse().unwrap_or(row.Metric);
                }
            }
        }
        result
    }
}

fn same_route(one: &Route, other: &Route) -> bool {
    let key = |route: &Route| {
        let destination = (route.destination, route.prefix_length);
        (destination, route.next_hop, route.interface)
    };
    key(one) == key(other)
}

unsafe fn route(row: *const MIB_IPFORWARD_ROW2) -> Result<Route, WIN32_ERROR> {
    // SAFETY: guaranteed by the caller.
    let row = unsafe { row.as_ref() }.ok_or(ERROR_INVALID_PARAMETER)?;
    Ok(Route {
        destination: sockaddr::address(&row.DestinationPrefix.Prefix)?,
        prefix_length: row.DestinationPrefix.PrefixLength,
        next_hop: sockaddr::address(&row.NextHop)?,
        interface: wine::interface_index(row.InterfaceLuid, row.InterfaceIndex)?,
        metric: if row.Metric == UNSET { 0 } else { row.Metric },
    })
}
