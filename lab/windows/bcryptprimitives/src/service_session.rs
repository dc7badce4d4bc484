//! The session of the service control manager.
//!
//! A Go program finds out whether it runs as a service by looking at its
//! parent: `services.exe` in session 0. Wine keeps every process in session 1,
//! so `containerd.exe --run-service` would take itself for a program at a
//! desk, never report to the service control manager, and end as error 1053.
//! Here `services.exe` is in session 0, as it always is on Windows.

use core::ffi::c_void;

use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SYSTEM_INFORMATION_CLASS, SystemProcessInformation,
};
use windows_sys::Win32::Foundation::NTSTATUS;
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESS_INFORMATION;

use crate::answers::Answer;
use crate::wide;

/// The functions that this module stands in for.
pub fn answers() -> [Answer; 1] {
    [(c"NtQuerySystemInformation", system_information as *const ())]
}

unsafe extern "system" fn system_information(
    class: SYSTEM_INFORMATION_CLASS,
    into: *mut c_void,
    length: u32,
    returned: *mut u32,
) -> NTSTATUS {
    // SAFETY: the caller's arguments; after success the buffer holds processes.
    unsafe {
        let status = NtQuerySystemInformation(class, into, length, returned);
        if status >= 0 && class == SystemProcessInformation {
            move_services_to_session_zero(into.cast());
        }
        status
    }
}

unsafe fn move_services_to_session_zero(mut process: *mut SYSTEM_PROCESS_INFORMATION) {
    // SAFETY: processes are chained by offsets, the last of which is zero.
    unsafe {
        loop {
            let name = (*process).ImageName;
            if !name.Buffer.is_null() {
                let units = usize::from(name.Length) / 2;
                let name = core::slice::from_raw_parts(name.Buffer, units);
                if wide::text(name).eq_ignore_ascii_case("services.exe") {
                    (*process).SessionId = 0;
                }
            }
            match (*process).NextEntryOffset {
                0 => return,
                offset => process = process.byte_add(offset as usize),
            }
        }
    }
}
