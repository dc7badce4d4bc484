//! Addresses of adapters.

use lab_wire::adapter::{AdapterCall, Address};
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, WIN32_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::MIB_UNICASTIPADDRESS_ROW;
use windows_sys::Win32::Networking::WinSock::{IpPrefixOriginUnchanged, IpSuffixOriginUnchanged};

use crate::door::{call, code};
use crate::{sockaddr, wine};

/// In a fresh row: the whole address is its own prefix.
const WHOLE: u8 = u8::MAX;

/// Fills a row with what Windows puts there before a caller changes it.
///
/// # Safety
///
/// `row` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn InitializeUnicastIpAddressEntry(row: *mut MIB_UNICASTIPADDRESS_ROW) {
    let fresh = MIB_UNICASTIPADDRESS_ROW {
        PrefixOrigin: IpPrefixOriginUnchanged,
        SuffixOrigin: IpSuffixOriginUnchanged,
        ValidLifetime: u32::MAX,
        PreferredLifetime: u32::MAX,
        OnLinkPrefixLength: WHOLE,
        ..Default::default()
    };
    // SAFETY: the caller vouches for it.
    unsafe { row.write(fresh) };
}

/// Gives an adapter an address.
///
/// # Safety
///
/// `row` must be null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateUnicastIpAddressEntry(
    row: *const MIB_UNICASTIPADDRESS_ROW,
) -> WIN32_ERROR {
    // SAFETY: the caller vouches for it.
    code(unsafe { address(row) }.and_then(|address| call(AdapterCall::CreateAddress(address))))
}

/// Takes an address from an adapter.
///
/// # Safety
///
/// `row` must be null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DeleteUnicastIpAddressEntry(
    row: *const MIB_UNICASTIPADDRESS_ROW,
) -> WIN32_ERROR {
    // SAFETY: the caller vouches for it.
    code(unsafe { address(row) }.and_then(|address| call(AdapterCall::DeleteAddress(address))))
}

unsafe fn address(row: *const MIB_UNICASTIPADDRESS_ROW) -> Result<Address, WIN32_ERROR> {
    // SAFETY: the caller vouches for it.
    let row = unsafe { row.as_ref() }.ok_or(ERROR_INVALID_PARAMETER)?;
    let address = sockaddr::address(&row.Address)?;
    Ok(Address {
        address,
        prefix_length: match row.OnLinkPrefixLength {
            WHOLE if address.is_ipv4() => 32,
            WHOLE => 128,
            length => length,
        },
        interface: wine::interface_index(row.InterfaceLuid, row.InterfaceIndex)?,
    })
}
