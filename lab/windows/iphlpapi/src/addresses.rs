//! Unicast addresses of adapters.

use lab_wire::adapter::{AdapterCall, Address};
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, WIN32_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::MIB_UNICASTIPADDRESS_ROW;
use windows_sys::Win32::Networking::WinSock::{IpPrefixOriginUnchanged, IpSuffixOriginUnchanged};

use crate::netd::{call, code};
use crate::{sockaddr, wine};

/// The prefix length in an initialized row: the full length of the address.
const FULL_LENGTH: u8 = u8::MAX;

/// Fills a row with the defaults of Windows.
///
/// # Safety
///
/// `row` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn InitializeUnicastIpAddressEntry(row: *mut MIB_UNICASTIPADDRESS_ROW) {
    let defaults = MIB_UNICASTIPADDRESS_ROW {
        PrefixOrigin: IpPrefixOriginUnchanged,
        SuffixOrigin: IpSuffixOriginUnchanged,
        ValidLifetime: u32::MAX,
        PreferredLifetime: u32::MAX,
        OnLinkPrefixLength: FULL_LENGTH,
        ..Default::default()
    };
    // SAFETY: guaranteed by the caller.
    unsafe { row.write(defaults) };
}

/// # Safety
///
/// `row` must be null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateUnicastIpAddressEntry(
    row: *const MIB_UNICASTIPADDRESS_ROW,
) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { address(row) }.and_then(|address| call(AdapterCall::CreateAddress(address))))
}

/// # Safety
///
/// `row` must be null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DeleteUnicastIpAddressEntry(
    row: *const MIB_UNICASTIPADDRESS_ROW,
) -> WIN32_ERROR {
    // SAFETY: guaranteed by the caller.
    code(unsafe { address(row) }.and_then(|address| call(AdapterCall::DeleteAddress(address))))
}

unsafe fn address(row: *const MIB_UNICASTIPADDRESS_ROW) -> Result<Address, WIN32_ERROR> {
    // SAFETY: guaranteed by the caller.
    let row = unsafe { row.as_ref() }.ok_or(ERROR_INVALID_PARAMETER)?;
    let address = sockaddr::address(&row.Address)?;
    Ok(Address {
        address,
        prefix_length: match row.OnLinkPrefixLength {
            FULL_LENGTH if address.is_ipv4() => 32,
            FULL_LENGTH => 128,
            length => length,
        },
        interface: wine::interface_index(row.InterfaceLuid, row.InterfaceIndex)?,
    })
}
