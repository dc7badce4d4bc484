//! The session of the service control manager.
//!
//! A Go program checks its parent to find out whether it runs as a service:
//! `services.exe` in session 0. Wine runs every process in session 1, so
//! `containerd.exe --run-service` would assume an interactive session, never
//! report to the service control manager, and fail with error 1053. This module
//! reports session 0 for `services.exe`, as on Windows.

use core::ffi::c_void;

use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SYSTEM_INFORMATION_CLASS, SystemProcessInformation,
};
use windows_sys::Win32::Foundation::NTSTATUS;
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESS_INFORMATION;

use crate::hooks::Hook;
use crate::wide;

pub fn hooks() -> [Hook; 1] {
    [(c"NtQuerySystemInformation", system_information as *const ())]
}

unsafe extern "system" fn system_information(
    class: SYSTEM_INFORMATION_CLASS,
    into: *mut c_void,
    length: u32,
    returned: *mut u32,
) -> NTSTATUS {
    // SAFETY: the caller's arguments; on success the buffer holds processes.
    unsafe {
        let status = NtQuerySystemInformation(class, into, length, returned);
        if status >= 0 && class == SystemProcessInformation {
            set_service_session(into.cast());
        }
        status
    }
}

unsafe fn set_service_session(mut process: *mut SYSTEM_PROCESS_INFORMATION) {
    // SAFETY: each entry has the offset of the next; zero ends the list.
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
