//! Adapter names.
//!
//! Wine shows Linux interface names, which are too short for
//! `vEthernet (Ethernet)`, the adapter that Windows creates for the host when a
//! vSwitch takes over `Ethernet`, and that flannel and the Kubernetes
//! documentation refer to. On Linux it is `vEthernet`; this module translates.

use core::ffi::c_void;
use std::slice;

use windows_sys::Win32::Foundation::WIN32_ERROR;
use windows_sys::Win32::NetworkManagement::IpHelper::{
    IP_ADAPTER_ADDRESSES_LH, MIB_IF_ROW2, MIB_IF_TABLE2,
};
use windows_sys::Win32::NetworkManagement::Ndis::NET_LUID_LH;
use windows_sys::core::w;

use crate::wine;

const LINUX_NAME: *const u16 = w!("vEthernet");
const WINDOWS_NAME: *const u16 = w!("vEthernet (Ethernet)");

/// Used by Go's net package.
///
/// # Safety
///
/// As for the Windows function, here and below.
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
            if units(entry.FriendlyName) == units(LINUX_NAME) {
                // Callers do not write to a name, so a constant is enough.
                entry.FriendlyName = WINDOWS_NAME.cast_mut();
            }
            adapter = entry.Next;
        }
        result
    }
}

/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfTable2(table: *mut *mut MIB_IF_TABLE2) -> WIN32_ERROR {
    // SAFETY: the caller's argument.
    unsafe { rename_all(wine::GetIfTable2(table), table) }
}

/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetIfTable2Ex(
    level: i32,
    table: *mut *mut MIB_IF_TABLE2,
) -> WIN32_ERROR {
    // SAFETY: the caller's arguments.
    unsafe { rename_all(wine::GetIfTable2Ex(level, table), table) }
}

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

/// Accepts both names.
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
        let is_windows_name = units(alias) == units(WINDOWS_NAME);
        wine::ConvertInterfaceAliasToLuid(if is_windows_name { LINUX_NAME } else { alias }, luid)
    }
}

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
        let windows = terminated(WINDOWS_NAME);
        if result == 0 && units(alias) == units(LINUX_NAME) && windows.len() <= length {
            alias.copy_from_nonoverlapping(windows.as_ptr(), windows.len());
        }
        result
    }
}

unsafe fn rename_all(result: WIN32_ERROR, table: *mut *mut MIB_IF_TABLE2) -> WIN32_ERROR {
    if result == 0 {
        // SAFETY: on success the table has `NumEntries` rows.
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
    let (linux, windows) = unsafe { (terminated(LINUX_NAME), terminated(WINDOWS_NAME)) };
    if let Some(row) = row.filter(|row| row.Alias.starts_with(linux)) {
        row.Alias[..windows.len()].copy_from_slice(windows);
    }
}

/// Without the NUL.
unsafe fn units<'a>(text: *const u16) -> &'a [u16] {
    // SAFETY: the caller guarantees the NUL.
    let text = unsafe { terminated(text) };
    &text[..text.len().saturating_sub(1)]
}

/// With the NUL; empty for null.
unsafe fn terminated<'a>(text: *const u16) -> &'a [u16] {
    if text.is_null() {
        return &[];
    }
    let mut length = 0;
    // SAFETY: the caller guarantees the NUL.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        slice::from_raw_parts(text, length + 1)
    }
}
