//! The functions of Wine's library that this one wraps.
//!
//! They are looked up by name at run time: as imports they would have the same
//! symbols as this library's own functions, and the linker would pick those.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{ERROR_PROC_NOT_FOUND, FARPROC, WIN32_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    IP_ADAPTER_ADDRESSES_LH, MIB_IF_ROW2, MIB_IF_TABLE2, MIB_IPFORWARD_TABLE2,
};
use windows_sys::Win32::NetworkManagement::Ndis::NET_LUID_LH;
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryW};
use windows_sys::core::w;

/// Declares functions of `iphlpw.dll`; a missing one returns
/// ERROR_PROC_NOT_FOUND.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[allow(non_snake_case, reason = "named as Windows names it")]
            pub unsafe fn $name($($argument: $type),*) -> WIN32_ERROR {
                const NAME: &CStr = match CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes(),
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("the name contains a NUL"),
                };
                type Function = unsafe extern "system" fn($($type),*) -> WIN32_ERROR;
                match lookup(NAME) {
                    // SAFETY: the signature is that of Windows; the caller
                    // guarantees the arguments.
                    Some(function) => unsafe {
                        transmute::<unsafe extern "system" fn() -> isize, Function>(function)(
                            $($argument),*
                        )
                    },
                    None => ERROR_PROC_NOT_FOUND,
                }
            }
        )*
    };
}

functions! {
    fn GetAdaptersAddresses(
        family: u32,
        flags: u32,
        reserved: *const c_void,
        addresses: *mut IP_ADAPTER_ADDRESSES_LH,
        size: *mut u32
    );
    fn GetIfTable2(table: *mut *mut MIB_IF_TABLE2);
    fn GetIfTable2Ex(level: i32, table: *mut *mut MIB_IF_TABLE2);
    fn GetIfEntry2(row: *mut MIB_IF_ROW2);
    fn GetIfEntry2Ex(level: i32, row: *mut MIB_IF_ROW2);
    fn GetIpForwardTable2(family: u16, table: *mut *mut MIB_IPFORWARD_TABLE2);
    fn FreeMibTable(table: *const c_void);
    fn ConvertInterfaceAliasToLuid(alias: *const u16, luid: *mut NET_LUID_LH);
    fn ConvertInterfaceLuidToAlias(luid: *const NET_LUID_LH, alias: *mut u16, length: usize);
    fn ConvertInterfaceLuidToIndex(luid: *const NET_LUID_LH, index: *mut u32);
    fn ConvertInterfaceIndexToLuid(index: u32, luid: *mut NET_LUID_LH);
}

/// The index of the interface that a row identifies by LUID or, if the LUID is
/// zero, by index; Windows gives the LUID the same precedence.
pub fn interface_index(luid: NET_LUID_LH, index: u32) -> Result<u32, WIN32_ERROR> {
    // SAFETY: both variants of the union are plain numbers.
    if unsafe { luid.Value } == 0 {
        return Ok(index);
    }
    let mut index = 0;
    // SAFETY: both pointers are valid.
    match unsafe { ConvertInterfaceLuidToIndex(&luid, &mut index) } {
        0 => Ok(index),
        error => Err(error),
    }
}

fn lookup(name: &CStr) -> FARPROC {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    lab_call_counter::record();
    // SAFETY: both names are NUL-terminated, and the library is never unloaded.
    unsafe {
        let library = *LIBRARY.get_or_init(|| LoadLibraryW(w!("iphlpw.dll")) as usize);
        GetProcAddress(library as *mut c_void, name.as_ptr().cast())
    }
}
