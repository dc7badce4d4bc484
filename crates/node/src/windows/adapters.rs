//! Network adapters.
//!
//! They are identified by address: names are localized, and change when a virtual
//! switch takes over an adapter.
#![allow(unsafe_code, reason = "the IP helper of the Windows API")]

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

use casement_resource::{Code, Failure};
use windows_sys::Win32::Foundation::{ERROR_BUFFER_OVERFLOW, ERROR_NO_DATA, ERROR_SUCCESS};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GAA_FLAG_SKIP_ANYCAST, GAA_FLAG_SKIP_DNS_SERVER, GAA_FLAG_SKIP_MULTICAST, GetAdaptersAddresses,
    IP_ADAPTER_ADDRESSES_LH, IP_ADAPTER_UNICAST_ADDRESS_LH,
};
use windows_sys::Win32::NetworkManagement::Ndis::IfOperStatusUp;
use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, AF_UNSPEC, IpDadStatePreferred, SOCKADDR, SOCKADDR_IN, SOCKADDR_IN6,
};

use super::failure::from_code;
use super::wide::from_pointer;

/// The index changes when a virtual switch takes over the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The IPv6 index if the adapter has no IPv4.
    pub index: u32,
    /// The name that HNS uses.
    pub name: String,
    /// With braces, as in the registry.
    pub guid: String,
    /// Empty if the adapter has none.
    pub mac: Vec<u8>,
    pub addresses: Vec<AdapterAddress>,
    pub up: bool,
}

impl Adapter {
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|bound| bound.address == address)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterAddress {
    pub address: IpAddr,
    pub prefix_length: u8,
    /// False during duplicate address detection.
    pub usable: bool,
}

pub fn adapters() -> Result<Vec<Adapter>, Failure> {
    let flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    let mut size: u32 = 16 * 1024;
    loop {
        // 64-bit words, for the alignment of the result.
        let mut buffer = vec![0_u64; (size as usize).div_ceil(8)];
        let first = buffer.as_mut_ptr().cast::<IP_ADAPTER_ADDRESSES_LH>();
        // SAFETY: a buffer of the given size.
        let code = unsafe {
            GetAdaptersAddresses(u32::from(AF_UNSPEC), flags, ptr::null(), first, &mut size)
        };
        match code {
            // SAFETY: on success the linked list is inside the buffer.
            ERROR_SUCCESS => return Ok(unsafe { read_list(first) }),
            ERROR_NO_DATA => return Ok(Vec::new()),
            // `size` is the required size now.
            ERROR_BUFFER_OVERFLOW => {}
            code => return Err(from_code("list the network adapters", code)),
        }
    }
}

pub fn with_address(address: IpAddr) -> Result<Option<Adapter>, Failure> {
    Ok(adapters()?.into_iter().find(|adapter| adapter.has(address)))
}

/// Fails with the list of addresses if no adapter has this one.
pub fn require(address: IpAddr) -> Result<Adapter, Failure> {
    let all = adapters()?;
    let addresses: Vec<String> = all
        .iter()
        .flat_map(|adapter| &adapter.addresses)
        .map(|bound| bound.address.to_string())
        .collect();
    let found = all.into_iter().find(|adapter| adapter.has(address));
    found.ok_or_else(|| {
        Failure::new(
            Code::InterfaceMissing,
            format!("no network adapter has the address {address}"),
            "correct the address of the host in the cluster file, or assign this address to the host",
        )
        .values(address.to_string(), addresses.join(", "))
    })
}

unsafe fn read_list(first: *const IP_ADAPTER_ADDRESSES_LH) -> Vec<Adapter> {
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the caller guarantees a valid linked list.
    while let Some(adapter) = unsafe { next.as_ref() } {
        let length = (adapter.PhysicalAddressLength as usize).min(adapter.PhysicalAddress.len());
        // SAFETY: as above; both variants of the union are plain numbers.
        unsafe {
            let index = match adapter.Anonymous1.Anonymous.IfIndex {
                0 => adapter.Ipv6IfIndex,
                index => index,
            };
            found.push(Adapter {
                index,
                name: from_pointer(adapter.FriendlyName),
                guid: ansi(adapter.AdapterName),
                mac: adapter
                    .PhysicalAddress
                    .iter()
                    .copied()
                    .take(length)
                    .collect(),
                addresses: read_addresses(adapter.FirstUnicastAddress),
                up: adapter.OperStatus == IfOperStatusUp,
            });
        }
        next = adapter.Next;
    }
    found
}

/// # Safety
///
/// `text` must be null or NUL-terminated.
unsafe fn ansi(text: *const u8) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text.cast()) };
    text.to_string_lossy().into_owned()
}

unsafe fn read_addresses(first: *const IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<AdapterAddress> {
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the caller guarantees a valid linked list.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        if let Some(address) = unsafe { read_socket_address(entry.Address.lpSockaddr) } {
            found.push(AdapterAddress {
                address,
                prefix_length: entry.OnLinkPrefixLength,
                usable: entry.DadState == IpDadStatePreferred,
            });
        }
        next = entry.Next;
    }
    found
}

/// # Safety
///
/// `address` must be null or point at an address of the family that it names.
unsafe fn read_socket_address(address: *const SOCKADDR) -> Option<IpAddr> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match address.as_ref()?.sa_family {
            AF_INET => {
                let bits = (*address.cast::<SOCKADDR_IN>()).sin_addr.S_un.S_addr;
                Some(Ipv4Addr::from(bits.to_ne_bytes()).into())
            }
            AF_INET6 => {
                let bytes = (*address.cast::<SOCKADDR_IN6>()).sin6_addr.u.Byte;
                Some(Ipv6Addr::from(bytes).into())
            }
            _ => None,
        }
    }
}
