//! The host's name, and the domain that it is a member of.
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

/// Has the name that was given last, also before it is in force.
const NAMES: &str = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters";

impl Identity for Windows {
    fn hostname(&self) -> Result<HostnameFacts, Failure> {
        let active = facts::hostname()?;
        let given = match registry::read(NAMES, "NV Hostname")? {
            Some(RegistryData::Text(name)) => name,
            _ => active.clone(),
        };
        Ok(HostnameFacts {
            after_boot: !given.eq_ignore_ascii_case(&active),
            name: given,
            domain: domain()?,
        })
    }

    fn set_hostname(&self, name: &str) -> Result<(), Failure> {
        let text = wide(name);
        // SAFETY: terminated text.
        match unsafe { SetComputerNameExW(ComputerNamePhysicalDnsHostname, text.as_ptr()) } {
            0 => Err(failure::last(format_args!("name the host `{name}`"))),
            _ => Ok(()),
        }
    }
}

fn domain() -> Result<Option<String>, Failure> {
    let (mut name, mut status) = (ptr::null_mut(), 0);
    // SAFETY: this machine, and two places; the name is freed below.
    let code = unsafe { NetGetJoinInformation(ptr::null(), &mut name, &mut status) };
    if code != ERROR_SUCCESS {
        return Err(failure::refused("ask for the host's domain", code));
    }
    // SAFETY: null, or terminated text that Windows has given.
    let text = unsafe {
        let text = from_pointer(name);
        NetApiBufferFree(name.cast());
        text
    };
    Ok((status == NetSetupDomainName).then_some(text))
}
