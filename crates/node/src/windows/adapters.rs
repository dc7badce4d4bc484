//! The host's network adapters.
//!
//! They are found by an address on them: names are localized, and change when
//! a virtual switch takes an adapter.
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

use super::failure::refused;
use super::wide::from_pointer;

/// One adapter as it is now; its index changes when a switch takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// What routes and settings refer to; of IPv6 where there is no IPv4.
    pub index: u32,
    /// What HNS calls it.
    pub name: String,
    /// What the registry calls it, in braces.
    pub guid: String,
    /// Hardware address, empty for those that have none.
    pub mac: Vec<u8>,
    /// Its addresses.
    pub addresses: Vec<Bound>,
    /// Whether packets can pass.
    pub up: bool,
}

impl Adapter {
    /// Whether it has an address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|bound| bound.address == address)
    }
}

/// An address of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The address.
    pub address: IpAddr,
    /// Length of its network's prefix.
    pub prefix_length: u8,
    /// Whether it can be used: a new one is first checked for duplicates.
    pub usable: bool,
}

/// All adapters of the host.
pub fn adapters() -> Result<Vec<Adapter>, Failure> {
    let flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    let mut size: u32 = 16 * 1024;
    loop {
        // Of 64-bit words, for the alignment of what is put there.
        let mut buffer = vec![0_u64; (size as usize).div_ceil(8)];
        let first = buffer.as_mut_ptr().cast::<IP_ADAPTER_ADDRESSES_LH>();
        // SAFETY: a buffer of the size given.
        let code = unsafe {
            GetAdaptersAddresses(u32::from(AF_UNSPEC), flags, ptr::null(), first, &mut size)
        };
        match code {
            // SAFETY: on success the list is chained inside the buffer.
            ERROR_SUCCESS => return Ok(unsafe { read_chain(first) }),
            ERROR_NO_DATA => return Ok(Vec::new()),
            // The list has grown: `size` says how much it needs now.
            ERROR_BUFFER_OVERFLOW => {}
            code => return Err(refused("list the network adapters", code)),
        }
    }
}

/// The adapter that has an address.
pub fn with_address(address: IpAddr) -> Result<Option<Adapter>, Failure> {
    Ok(adapters()?.into_iter().find(|adapter| adapter.has(address)))
}

/// The adapter that has an address, or a failure that says which there are.
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
            "give the address that the host has, or the host this address",
        )
        .values(address.to_string(), addresses.join(", "))
    })
}

unsafe fn read_chain(first: *const IP_ADAPTER_ADDRESSES_LH) -> Vec<Adapter> {
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the caller vouches for the chain and what hangs on it.
    while let Some(adapter) = unsafe { next.as_ref() } {
        let length = (adapter.PhysicalAddressLength as usize).min(adapter.PhysicalAddress.len());
        // SAFETY: as above; the union's two sides are plain numbers.
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
/// `text` must be null or terminated.
unsafe fn ansi(text: *const u8) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    let text = unsafe { CStr::from_ptr(text.cast()) };
    text.to_string_lossy().into_owned()
}

unsafe fn read_addresses(first: *const IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<Bound> {
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the caller vouches for the chain and what hangs on it.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        if let Some(address) = unsafe { read_socket_address(entry.Address.lpSockaddr) } {
            found.push(Bound {
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
    // SAFETY: the caller vouches for it.
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
