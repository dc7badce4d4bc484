//! The exit of a service process.
//!
//! The service control manager of Windows notices when a service process exits
//! and marks the service as stopped. Wine's keeps the last reported status:
//! containerd reports "stopping" and may exit before it reports "stopped", which
//! would leave the service in that state forever. So this module reports
//! "stopped" when a Go program exits.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{ERROR_PROCESS_ABORTED, NO_ERROR, TRUE};
use windows_sys::Win32::System::Services::{SERVICE_STATUS, SERVICE_STOPPED, SetServiceStatus};
use windows_sys::Win32::System::Threading::ExitProcess;
use windows_sys::core::BOOL;

use crate::hooks::Hook;
use crate::locked::Locked;

/// The last reported status. Locked during a report, so that no report follows
/// the final one.
static REPORTED: Locked<Reported> = Locked::new(Reported::Nothing);

enum Reported {
    /// Not a service, or not started yet.
    Nothing,
    /// The service's handle and its status.
    Status(usize, SERVICE_STATUS),
    Final,
}

pub fn hooks() -> [Hook; 1] {
    [(c"SetServiceStatus", set_status as *const ())]
}

/// Replacement for `ExitProcess` in the main program.
pub unsafe extern "system" fn exit_process(code: u32) -> ! {
    REPORTED.with(|reported| {
        if let Reported::Status(service, mut status) = *reported
            && status.dwCurrentState != SERVICE_STOPPED
        {
            status.dwCurrentState = SERVICE_STOPPED;
            status.dwControlsAccepted = 0;
            status.dwWin32ExitCode = match code {
                0 => NO_ERROR,
                _ => ERROR_PROCESS_ABORTED,
            };
            // SAFETY: the handle is the program's own, and the process still runs.
            unsafe { SetServiceStatus(service as *mut c_void, &status) };
        }
        *reported = Reported::Final;
    });
    // SAFETY: requested by the caller.
    unsafe { ExitProcess(code) }
}

unsafe extern "system" fn set_status(service: *mut c_void, status: *const SERVICE_STATUS) -> BOOL {
    REPORTED.with(|reported| {
        if matches!(reported, Reported::Final) {
            return TRUE;
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let result = SetServiceStatus(service, status);
            if result == TRUE {
                *reported = Reported::Status(service as usize, *status);
            }
            result
        }
    })
}
