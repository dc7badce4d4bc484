//! `bcryptprimitives.dll` for the lab's Windows hosts.
//!
//! Wine 8 lacks this library, and Rust's std and Go's runtime both need its only
//! function, [`ProcessPrng`]. That makes it a hook into every Go program: Go's
//! runtime loads it before anything else and resolves all other Windows
//! functions through `GetProcAddress` at run time. When it is loaded into a Go
//! program, it replaces that import ([`imports`]) and provides the few functions
//! that Wine lacks or implements differently from Windows ([`hooks`]):
//!
//! * [`unix_sockets`]: AF_UNIX sockets,
//! * [`reparse_points`]: symbolic links and socket files,
//! * [`pipes`]: the first instance of a named pipe,
//! * [`service_session`]: the session of the service control manager,
//! * [`service_exit`]: the exit of a service process.
//!
//! This works however a program is started (manually, by the SCM or by another
//! program), without a launcher. Rust's std imports this library too, and imports
//! the functions that it calls by name: in Rust programs, the imports for reparse
//! points are replaced, so that they can read and remove links of Go programs.
//!
//! The crate is `no_std` because std imports this library. With unwinding panics
//! (the dev profile, used only for `cargo check`) it falls back to std, because
//! `no_std` cannot unwind.
#![cfg(windows)]
#![cfg_attr(panic = "abort", no_std)]
#![allow(
    unsafe_code,
    reason = "a DLL of C functions over the Windows API, without std"
)]

extern crate alloc;

mod hooks;
mod imports;
mod linux;
mod locked;
mod paths;
mod pipes;
mod reparse_points;
mod runtime;
mod service_exit;
mod service_session;
mod unix_sockets;
mod wide;

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{HINSTANCE, TRUE};
use windows_sys::Win32::Security::Authentication::Identity::RtlGenRandom;
use windows_sys::Win32::System::SystemServices::DLL_PROCESS_ATTACH;
use windows_sys::core::BOOL;

/// Fills `data` with random bytes; never fails, as on Windows.
///
/// # Safety
///
/// `data` must be valid for writes of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ProcessPrng(data: *mut u8, length: usize) -> BOOL {
    let mut done = 0;
    while done < length {
        let step = u32::try_from(length - done).unwrap_or(u32::MAX);
        // SAFETY: the range lies within the caller's buffer.
        unsafe { RtlGenRandom(data.add(done).cast::<c_void>(), step) };
        done += step as usize;
    }
    TRUE
}

/// Called by the loader; installs the hooks (see the crate documentation).
#[unsafe(no_mangle)]
extern "system" fn DllMain(_: HINSTANCE, reason: u32, _: *mut c_void) -> BOOL {
    if reason == DLL_PROCESS_ATTACH {
        let go_hooks = [
            (c"GetProcAddress", hooks::get_proc_address as *const ()),
            (c"ExitProcess", service_exit::exit_process as *const ()),
        ];
        imports::replace(&go_hooks, || {
            let reparse_points = reparse_points::needed().then(reparse_points::hooks);
            reparse_points.into_iter().flatten().collect()
        });
    }
    TRUE
}
