//! The end of a service's process.
//!
//! Windows' service control manager notices when a service's process ends and
//! counts the service as stopped. Wine's believes the last word that it heard:
//! containerd says "stopping" and may be gone before it says "stopped", which
//! would leave the service half stopped for ever. So whatever a Go program
//! leaves unsaid is said for it on its way out.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{ERROR_PROCESS_ABORTED, NO_ERROR, TRUE};
use windows_sys::Win32::System::Services::{SERVICE_STATUS, SERVICE_STOPPED, SetServiceStatus};
use windows_sys::Win32::System::Threading::ExitProcess;
use windows_sys::core::BOOL;

use crate::answers::Answer;
use crate::locked::Locked;

/// What the manager was told last. Held while it is told something, so that
/// nothing comes after the last word.
static TOLD: Locked<Told> = Locked::new(Told::Nothing);

enum Told {
    /// This is no service, or it has not begun.
    Nothing,
    /// The service's handle and its status.
    Status(usize, SERVICE_STATUS),
    /// That it is over.
    Everything,
}

/// The functions that this module stands in for.
pub fn answers() -> [Answer; 1] {
    [(c"SetServiceStatus", set_status as *const ())]
}

/// What the main program calls instead of `ExitProcess`.
pub unsafe extern "system" fn exit_process(code: u32) -> ! {
    TOLD.with(|told| {
        if let Told::Status(service, mut status) = *told
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
        *told = Told::Everything;
    });
    // SAFETY: the caller wants it.
    unsafe { ExitProcess(code) }
}

unsafe extern "system" fn set_status(service: *mut c_void, status: *const SERVICE_STATUS) -> BOOL {
    TOLD.with(|told| {
        if matches!(told, Told::Everything) {
            return TRUE;
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let result = SetServiceStatus(service, status);
            if result == TRUE {
                *told = Told::Status(service as usize, *status);
            }
            result
        }
    })
}
