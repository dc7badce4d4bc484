//! Interface settings.
//!
//! Fields of a row are read and written by their offset, because an initialized
//! row has -1 in every field, booleans included, which is not a valid Rust `bool`.

use std::mem::offset_of;

use lab_wire::adapter::{AdapterCall, Family, Interface, InterfaceChange, InterfaceSettings};
use windows_sys::Win32::Foundation::{ERROR_GEN_FAILURE, ERROR_INVALID_PARAMETER, WIN32_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::MIB_IPINTERFACE_ROW as Row;
use windows_sys::Win32::NetworkManagement::Ndis::NET_LUID_LH;
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6};

use crate::netd::{call, code};
use crate::wine;

/// The value that Windows returns for IPv4, and then rejects when it is set.
const IPV4_SITE_PREFIX: u32 = 64;
const MAX_IPV4_SITE_PREFIX: u32 = 32;

/// Fills all fields but the key with -1, which means "unchanged".
///
/// # Safety
///
/// `row` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn InitializeIpInterfaceEntry(row: *mut Row) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        row.cast::<u8>().write_bytes(0xFF, size_of::<Row>());
        put::<u16>(row, offset_of!(Row, Family), 0);
        put::<u64>(row, offset_of!(Row, InterfaceLuid), 0);
        put::<u32>(row, offset_of!(Row, InterfaceIndex), 0);
    }
}

/// Fills in a row that identifies an interface and an address family.
///
/// # Safety
///
/// `row` must be null or valid for reads and writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIpInterfaceEntry(row: *mut Row) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    let result = unsafe { interface(row) }.and_then(|interface| {
        let settings = call(AdapterCall::Interface(interface))?;
        let settings: InterfaceSettings =
            serde_json::from_value(settings).map_err(|_| ERROR_GEN_FAILURE)?;
        // SAFETY: as above.
        unsafe { fill(row, interface, &settings) };
        Ok(())
    });
    code(result)
}

/// Changes the settings that differ from the row.
///
/// # Safety
///
/// `row` must be null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn SetIpInterfaceEntry(row: *mut Row) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { interface(row) }.and_then(|interface| {
        // SAFETY: as above.
        let change = unsafe { change(row, interface.family) }?;
        call(AdapterCall::SetInterface(interface, change))
    }))
}

unsafe fn interface(row: *const Row) -> Result<Interface, WIN32_ERROR> {
    if row.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let family = match get::<u16>(row, offset_of!(Row, Family)) {
            AF_INET => Family::V4,
            AF_INET6 => Family::V6,
            _ => return Err(ERROR_INVALID_PARAMETER),
        };
        let luid = NET_LUID_LH {
            Value: get(row, offset_of!(Row, InterfaceLuid)),
        };
        let index = get(row, offset_of!(Row, InterfaceIndex));
        Ok(Interface {
            index: wine::interface_index(luid, index)?,
            family,
        })
    }
}

/// The changes that a row requests; the row is complete (from
/// [`GetIpInterfaceEntry`]) or an initialized one with some fields set.
unsafe fn change(row: *const Row, family: Family) -> Result<InterfaceChange, WIN32_ERROR> {
    // SAFETY: guaranteed by the caller.
    let (flag, number) = unsafe {
        (
            |offset| match get::<u8>(row, offset) {
                u8::MAX => None,
                value => Some(value != 0),
            },
            |offset| Some(get::<u32>(row, offset)).filter(|&value| value != u32::MAX),
        )
    };
    let site = number(offset_of!(Row, SitePrefixLength)).unwrap_or(0);
    if family == Family::V4 && site > MAX_IPV4_SITE_PREFIX {
        return Err(ERROR_INVALID_PARAMETER);
    }
    Ok(InterfaceChange {
        forwarding: flag(offset_of!(Row, ForwardingEnabled)),
        weak_host_send: flag(offset_of!(Row, WeakHostSend)),
        weak_host_receive: flag(offset_of!(Row, WeakHostReceive)),
        automatic_metric: flag(offset_of!(Row, UseAutomaticMetric)),
        metric: number(offset_of!(Row, Metric)),
        mtu: number(offset_of!(Row, NlMtu)),
    })
}

unsafe fn fill(row: *mut Row, interface: Interface, settings: &InterfaceSettings) {
    let mut luid = NET_LUID_LH { Value: 0 };
    // SAFETY: both pointers are valid.
    unsafe { wine::ConvertInterfaceIndexToLuid(interface.index, &mut luid) };
    let (family, site) = match interface.family {
        Family::V4 => (AF_INET, IPV4_SITE_PREFIX),
        Family::V6 => (AF_INET6, 64),
    };
    let full = Row {
        Family: family,
        InterfaceLuid: luid,
        InterfaceIndex: interface.index,
        MaxReassemblySize: 65_535,
        MinRouterAdvertisementInterval: 200,
        MaxRouterAdvertisementInterval: 600,
        ForwardingEnabled: settings.forwarding,
        WeakHostSend: settings.weak_host_send,
        WeakHostReceive: settings.weak_host_receive,
        UseAutomaticMetric: settings.automatic_metric,
        UseNeighborUnreachabilityDetection: true,
        DadTransmits: 3,
        BaseReachableTime: 30_000,
        RetransmitTime: 1_000,
        PathMtuDiscoveryTimeout: 600_000,
        SitePrefixLength: site,
        Metric: settings.metric,
        NlMtu: settings.mtu,
        Connected: settings.connected,
        ..Default::default()
    };
    // SAFETY: guaranteed by the caller.
    unsafe { row.write(full) };
}

unsafe fn get<T: Copy>(row: *const Row, offset: usize) -> T {
    // SAFETY: the offset is that of a field of this plain type.
    unsafe { row.byte_add(offset).cast::<T>().read() }
}

unsafe fn put<T: Copy>(row: *mut Row, offset: usize, value: T) {
    // SAFETY: as above.
    unsafe { row.byte_add(offset).cast::<T>().write(value) }
}
