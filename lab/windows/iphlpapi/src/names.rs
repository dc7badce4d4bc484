//! Names of adapters.
//!
//! Wine shows Linux's names, and those have no room for
//! `vEthernet (Ethernet)`, the adapter that Windows makes for the host when a
//! vSwitch takes `Ethernet`, and that flannel and Kubernetes' documents name.
//! Linux calls it `vEthernet`; here both names meet.

use core::ffi::c_void;
use std::slice;

use windows_sys::Win32::Foundation::WIN32_ERROR;
use windows_sys::Win32::NetworkManagement::IpHelper::{
    IP_ADAPTER_ADDRESSES_LH, MIB_IF_ROW2, MIB_IF_TABLE2,
};
use windows_sys::Win32::NetworkManagement::Ndis::NET_LUID_LH;
use windows_sys::core::w;

use crate::wine;

/// Linux's name, and Windows'.
const LINUX: *const u16 = w!("vEthernet");
const WINDOWS: *const u16 = w!("vEthernet (Ethernet)");

/// All adapters with their addresses; Go's net package reads these.
///
/// # Safety
///
/// As for Windows' function, here and below.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetAdaptersAddresses(
    family: u32,
    flags: u32,
    reserved: *const c_void,
    addresses: *mut IP_ADAPTER_ADDRESSES_LH,
    size: *mut u32,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments; on success the list is chained in them.
    unsafe {
        let result = wine::GetAdaptersAddresses(family, flags, reserved, addresses, size);
        let mut adapter = if result == 0 {
            addresses
        } else {
            std::ptr::null_mut()
        };
        while let Some(entry) = adapter.as_mut() {
            if units(entry.FriendlyName) == units(LINUX) {
                // Nobody writes to a name, so a constant will do.
                entry.FriendlyName = WINDOWS.cast_mut();
            }
            adapter = entry.Next;
        }
        result
    }
}

/// All interfaces.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfTable2(table: *mut *mut MIB_IF_TABLE2) -> WIN32_ERROR {
    // SAFETY: the caller's argument.
    unsafe { renamed(wine::GetIfTable2(table), table) }
}

/// All interfaces, in more or less depth.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfTable2Ex(
    level: i32,
    table: *mut *mut MIB_IF_TABLE2,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments.
    unsafe { renamed(wine::GetIfTable2Ex(level, table), table) }
}

/// One interface.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfEntry2(row: *mut MIB_IF_ROW2) -> WIN32_ERROR {
    // SAFETY: the caller's argument.
    unsafe {
        let result = wine::GetIfEntry2(row);
        rename(row.as_mut().filter(|_| result == 0));
        result
    }
}

/// One interface, in more or less depth.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfEntry2Ex(level: i32, row: *mut MIB_IF_ROW2) -> WIN32_ERROR {
    // SAFETY: the caller's arguments.
    unsafe {
        let result = wine::GetIfEntry2Ex(level, row);
        rename(row.as_mut().filter(|_| result == 0));
        result
    }
}

/// The interface with a name; both names are known.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ConvertInterfaceAliasToLuid(
    alias: *const u16,
    luid: *mut NET_LUID_LH,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments.
    unsafe {
        let known = units(alias) == units(WINDOWS);
        wine::ConvertInterfaceAliasToLuid(if known { LINUX } else { alias }, luid)
    }
}

/// The name of an interface.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ConvertInterfaceLuidToAlias(
    luid: *const NET_LUID_LH,
    alias: *mut u16,
    length: usize,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments; nothing is written beyond the length.
    unsafe {
        let result = wine::ConvertInterfaceLuidToAlias(luid, alias, length);
        let windows = terminated(WINDOWS);
        if result == 0 && units(alias) == units(LINUX) && windows.len() <= length {
            alias.copy_from_nonoverlapping(windows.as_ptr(), windows.len());
        }
        result
    }
}

unsafe fn renamed(result: WIN32_ERROR, table: *mut *mut MIB_IF_TABLE2) -> WIN32_ERROR {
    if result == 0 {
        // SAFETY: on success the table holds as many rows as it says.
        unsafe {
            let first = (&raw mut (**table).Table).cast::<MIB_IF_ROW2>();
            for row in slice::from_raw_parts_mut(first, (**table).NumEntries as usize) {
                rename(Some(row));
            }
        }
    }
    result
}

fn rename(row: Option<&mut MIB_IF_ROW2>) {
    // SAFETY: both are constants with a NUL.
    let (linux, windows) = unsafe { (terminated(LINUX), terminated(WINDOWS)) };
    if let Some(row) = row.filter(|row| row.Alias.starts_with(linux)) {
        row.Alias[..windows.len()].copy_from_slice(windows);
    }
}

/// A string without its NUL.
unsafe fn units<'a>(text: *const u16) -> &'a [u16] {
    // SAFETY: the caller vouches for the NUL.
    let text = unsafe { terminated(text) };
    &text[..text.len().saturating_sub(1)]
}

/// A string with its NUL; empty for null.
unsafe fn terminated<'a>(text: *const u16) -> &'a [u16] {
    if text.is_null() {
        return &[];
    }
    let mut length = 0;
    // SAFETY: the caller vouches for the NUL.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        slice::from_raw_parts(text, length + 1)
    }
}
