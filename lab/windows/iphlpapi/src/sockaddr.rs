//! Socket addresses in iphlpapi rows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, WIN32_ERROR};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6, SOCKADDR_INET};

pub fn address(address: &SOCKADDR_INET) -> Result<IpAddr, WIN32_ERROR> {
    // SAFETY: every variant of the union is plain bytes; the family selects one.
    unsafe {
        match address.si_family {
            AF_INET => {
                let bits = address.Ipv4.sin_addr.S_un.S_addr;
                Ok(Ipv4Addr::from(bits.to_ne_bytes()).into())
            }
            AF_INET6 => Ok(Ipv6Addr::from(address.Ipv6.sin6_addr.u.Byte).into()),
            _ => Err(ERROR_INVALID_PARAMETER),
        }
    }
}
