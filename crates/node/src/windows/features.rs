//! Windows features and the reboots that they need.
#![allow(unsafe_code, reason = "a function of the Windows API that reboots")]

use std::io;
use std::ptr;

use casement_resource::{Failure, RegistryData, WindowsFeatureFacts};
use windows_sys::Win32::Foundation::{ERROR_SHUTDOWN_IN_PROGRESS, ERROR_SHUTDOWN_IS_SCHEDULED};
use windows_sys::Win32::Security::SE_SHUTDOWN_NAME;
use windows_sys::Win32::System::Shutdown::{
    InitiateSystemShutdownExW, SHTDN_REASON_FLAG_PLANNED, SHTDN_REASON_MAJOR_OPERATINGSYSTEM,
    SHTDN_REASON_MINOR_RECONFIG,
};

use super::dism::Dism;
use super::failure::{from_code, system};
use super::security::enable_privilege;
use super::wide::wide;
use super::{Windows, registry};
use crate::platform::{Features, Identity};

/// Keys that exist while a reboot is pending. The list of files to be renamed at
/// boot is not included: programs use it all the time without needing a reboot.
const PENDING_REBOOT_KEYS: [(&str, &str); 3] = [
    (
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending",
        "Windows components",
    ),
    (
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired",
        "Windows updates",
    ),
    (REBOOT_REQUIRED, "a feature changed by casement"),
];

/// Created when DISM reports that a change needs a reboot; volatile, so that the
/// reboot removes it.
const REBOOT_REQUIRED: &str = r"SOFTWARE\casement-reboot-required";

const BOOT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";

/// Gives the controller time to receive the event.
const SHUTDOWN_DELAY_SECONDS: u32 = 5;

impl Features for Windows {
    fn windows_feature(&self, name: &str) -> Result<WindowsFeatureFacts, Failure> {
        Dism::open()?.feature(name)
    }

    fn set_windows_feature(&self, name: &str, present: bool) -> Result<(), Failure> {
        if Dism::open()?.set_feature(name, present)? {
            registry::create_volatile(REBOOT_REQUIRED)?;
        }
        Ok(())
    }

    fn pending_reboots(&self) -> Result<Vec<String>, Failure> {
        let mut pending = Vec::new();
        for (key, what) in PENDING_REBOOT_KEYS {
            if registry::exists(key)? {
                pending.push(what.to_owned());
            }
        }
        if self.hostname()?.after_boot {
            pending.push("the new computer name".to_owned());
        }
        Ok(pending)
    }

    fn boot(&self) -> Result<u32, Failure> {
        match registry::read(BOOT, "BootId")? {
            Some(RegistryData::Number(number)) => Ok(number),
            found => Err(system(
                format_args!("read the boot ID; `BootId` is {found:?}"),
                &io::ErrorKind::NotFound.into(),
            )),
        }
    }

    fn begin_reboot(&self) -> Result<(), Failure> {
        enable_privilege(SE_SHUTDOWN_NAME)?;
        let message = wide("casement: a configuration change requires a reboot");
        let reason = SHTDN_REASON_MAJOR_OPERATINGSYSTEM
            | SHTDN_REASON_MINOR_RECONFIG
            | SHTDN_REASON_FLAG_PLANNED;
        let (force, reboot) = (1, 1);
        // SAFETY: null means the local computer; NUL-terminated text.
        let scheduled = unsafe {
            InitiateSystemShutdownExW(
                ptr::null(),
                message.as_ptr(),
                SHUTDOWN_DELAY_SECONDS,
                force,
                reboot,
                reason,
            )
        };
        if scheduled != 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(i32::cast_unsigned) {
            // A shutdown is already scheduled.
            Some(ERROR_SHUTDOWN_IN_PROGRESS | ERROR_SHUTDOWN_IS_SCHEDULED) => Ok(()),
            Some(code) => Err(from_code("reboot the host", code)),
            None => Err(system("reboot the host", &error)),
        }
    }
}
