//! Features of Windows, and the reboots that they need.
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
use super::failure::{refused, system};
use super::security::enable_privilege;
use super::wide::wide;
use super::{Windows, registry};
use crate::platform::{Features, Identity};

/// Keys that are there while something waits for a reboot. The list of files
/// to be renamed at boot is not among them: programs put things there all the
/// time that nobody waits for.
const WAITING: [(&str, &str); 3] = [
    (
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending",
        "parts of Windows",
    ),
    (
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired",
        "updates of Windows",
    ),
    (ORDERED, "a feature that casement has switched"),
];

/// Made when Windows says that what casement did needs a reboot; volatile, so
/// that the reboot takes it away.
const ORDERED: &str = r"SOFTWARE\casement-reboot-required";

const BOOT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";

/// From the order to the end of services: time for the controller to hear of it.
const NOTICE_SECONDS: u32 = 5;

impl Features for Windows {
    fn windows_feature(&self, name: &str) -> Result<WindowsFeatureFacts, Failure> {
        Dism::open()?.feature(name)
    }

    fn set_windows_feature(&self, name: &str, present: bool) -> Result<(), Failure> {
        if Dism::open()?.set_feature(name, present)? {
            registry::make_volatile(ORDERED)?;
        }
        Ok(())
    }

    fn waiting_for_reboot(&self) -> Result<Vec<String>, Failure> {
        let mut waiting = Vec::new();
        for (key, what) in WAITING {
            if registry::exists(key)? {
                waiting.push(what.to_owned());
            }
        }
        if self.hostname()?.after_boot {
            waiting.push("the host's new name".to_owned());
        }
        Ok(waiting)
    }

    fn boot(&self) -> Result<u32, Failure> {
        match registry::read(BOOT, "BootId")? {
            Some(RegistryData::Number(number)) => Ok(number),
            found => Err(system(
                format_args!("read the number of the boot, `BootId`, which is {found:?}"),
                &io::ErrorKind::NotFound.into(),
            )),
        }
    }

    fn begin_reboot(&self) -> Result<(), Failure> {
        enable_privilege(SE_SHUTDOWN_NAME)?;
        let message = wide("casement: a change of Windows needs a reboot");
        let reason = SHTDN_REASON_MAJOR_OPERATINGSYSTEM
            | SHTDN_REASON_MINOR_RECONFIG
            | SHTDN_REASON_FLAG_PLANNED;
        let (force, reboot) = (1, 1);
        // SAFETY: this machine, and a terminated text.
        let begun = unsafe {
            InitiateSystemShutdownExW(
                ptr::null(),
                message.as_ptr(),
                NOTICE_SECONDS,
                force,
                reboot,
                reason,
            )
        };
        if begun != 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(i32::cast_unsigned) {
            // Somebody else was first.
            Some(ERROR_SHUTDOWN_IN_PROGRESS | ERROR_SHUTDOWN_IS_SCHEDULED) => Ok(()),
            Some(code) => Err(refused("reboot the host", code)),
            None => Err(system("reboot the host", &error)),
        }
    }
}
