//! Host facts and the system log.
#![allow(unsafe_code, reason = "a system function of the Windows API")]

use std::env::consts::ARCH;

use casement_resource::wire::{HostFacts, OperatingSystem};
use casement_resource::{Failure, RegistryData};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW,
};

use super::{Windows, event_log, failure, network, registry};
use crate::platform::{Level, Platform};

/// The version functions of Windows return the version that a program was built for;
/// the registry has the real one.
const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";

impl Platform for Windows {
    fn notice(&self, level: Level, text: &str) {
        event_log::write(level, text);
    }

    fn facts(&self) -> Result<HostFacts, Failure> {
        let build = text("CurrentBuildNumber")?;
        let version = format!(
            "{}.{}.{build}.{}",
            number("CurrentMajorVersionNumber")?.unwrap_or(10),
            number("CurrentMinorVersionNumber")?.unwrap_or(0),
            number("UBR")?.unwrap_or(0),
        );
        Ok(HostFacts {
            os: OperatingSystem::Windows,
            product: text("ProductName")?,
            version,
            architecture: ARCH.to_owned(),
            hostname: hostname()?,
            service_manager: Some("scm".to_owned()),
            interfaces: network::interfaces()?,
        })
    }
}

fn text(name: &str) -> Result<String, Failure> {
    Ok(match registry::read(VERSION, name)? {
        Some(RegistryData::Text(text)) => text,
        _ => String::new(),
    })
}

fn number(name: &str) -> Result<Option<u32>, Failure> {
    Ok(match registry::read(VERSION, name)? {
        Some(RegistryData::Number(number)) => Some(number),
        _ => None,
    })
}

/// The DNS name, which the kubelet uses for the Node; the NetBIOS name is limited to
/// 15 characters.
pub fn hostname() -> Result<String, Failure> {
    let mut name = [0_u16; 256];
    let mut length = 256;
    // SAFETY: a buffer of the given length.
    let read = unsafe {
        GetComputerNameExW(
            ComputerNamePhysicalDnsHostname,
            name.as_mut_ptr(),
            &mut length,
        )
    };
    match (read, name.get(..length as usize)) {
        (0, _) | (_, None) => Err(failure::last_error("read the computer name")),
        (_, Some(units)) => Ok(String::from_utf16_lossy(units)),
    }
}
