//! Computer name and domain membership.
#![allow(unsafe_code, reason = "names through the Windows API")]

use std::ptr;

use casement_resource::{Failure, HostnameFacts, RegistryData};
use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::NetworkManagement::NetManagement::{
    NetApiBufferFree, NetGetJoinInformation, NetSetupDomainName,
};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, SetComputerNameExW,
};

use super::wide::{from_pointer, wide};
use super::{Windows, facts, failure, registry};
use crate::platform::Identity;

/// Holds the last name that was set, even before the reboot that activates it.
const NAMES: &str = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters";

impl Identity for Windows {
    fn hostname(&self) -> Result<HostnameFacts, Failure> {
        let active = facts::hostname()?;
        let configured = match registry::read(NAMES, "NV Hostname")? {
            Some(RegistryData::Text(name)) => name,
            _ => active.clone(),
        };
        Ok(HostnameFacts {
            after_boot: !configured.eq_ignore_ascii_case(&active),
            name: configured,
            domain: domain()?,
        })
    }

    fn set_hostname(&self, name: &str) -> Result<(), Failure> {
        let text = wide(name);
        // SAFETY: NUL-terminated text.
        match unsafe { SetComputerNameExW(ComputerNamePhysicalDnsHostname, text.as_ptr()) } {
            0 => Err(failure::last_error(format_args!(
                "set the computer name to `{name}`"
            ))),
            _ => Ok(()),
        }
    }
}

fn domain() -> Result<Option<String>, Failure> {
    let (mut name, mut status) = (ptr::null_mut(), 0);
    // SAFETY: null means the local computer; the name is freed below.
    let code = unsafe { NetGetJoinInformation(ptr::null(), &mut name, &mut status) };
    if code != ERROR_SUCCESS {
        return Err(failure::from_code("read the domain of the host", code));
    }
    // SAFETY: null, or NUL-terminated text allocated by Windows.
    let text = unsafe {
        let text = from_pointer(name);
        NetApiBufferFree(name.cast());
        text
    };
    Ok((status == NetSetupDomainName).then_some(text))
}
