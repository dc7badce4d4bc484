//! The end of a service's process.
//!
//! Windows' service control manager notices when a service's process ends and
//! counts the service as stopped. Wine's believes the last word that it heard:
//! containerd says "stopping" and may be gone before it says "stopped", which
//! would leave the service half stopped for ever. So whatever a Go program
//! leaves unsaid is said for it on its way out.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{ERROR_PROCESS_ABORTED, NO_ERROR};
use windows_sys::Win32::System::Services::{
    SERVICE_STATUS, SERVICE_STOP_PENDING, SERVICE_STOPPED, SetServiceStatus,
};
use windows_sys::Win32::System::Threading::ExitProcess;
use windows_sys::core::BOOL;

use crate::answers::Answer;
use crate::locked::Locked;

/// The service's handle and its last word.
static LAST: Locked<Option<(usize, SERVICE_STATUS)>> = Locked::new(None);

/// The functions that this module stands in for.
pub fn answers() -> [Answer; 1] {
    [(c"SetServiceStatus", set_status as *const ())]
}

/// What the main program calls instead of `ExitProcess`.
pub unsafe extern "system" fn exit_process(code: u32) -> ! {
    if let Some((service, mut status)) = LAST.with(Option::take)
        && status.dwCurrentState != SERVICE_STOPPED
    {
        status.dwWin32ExitCode = match status.dwCurrentState {
            SERVICE_STOP_PENDING => NO_ERROR,
            _ => ERROR_PROCESS_ABORTED,
        };
        status.dwCurrentState = SERVICE_STOPPED;
        status.dwControlsAccepted = 0;
        // SAFETY: the handle is the program's own, and the process still runs.
        unsafe { SetServiceStatus(service as *mut c_void, &status) };
    }
    // SAFETY: the caller wants it.
    unsafe { ExitProcess(code) }
}

unsafe extern "system" fn set_status(service: *mut c_void, status: *const SERVICE_STATUS) -> BOOL {
    // SAFETY: the caller's arguments.
    unsafe {
        let told = SetServiceStatus(service, status);
        if told != 0 {
            LAST.with(|last| *last = Some((service as usize, *status)));
        }
        told
    }
}
