//! `bcryptprimitives.dll` for the lab's Windows hosts.
//!
//! Wine 8 lacks this library, and Rust's std as well as Go's runtime need its
//! one function, [`ProcessPrng`]. That also makes it the door into every Go
//! program: Go's runtime loads it before anything else and resolves every
//! other Windows function through `GetProcAddress` at run time. So when it is
//! loaded into a Go program, it puts a function of its own in the place of
//! that import ([`imports`]) and answers for the few functions that Wine does
//! not have or does not do as Windows does ([`answers`]):
//!
//! * [`unix_sockets`]: AF_UNIX sockets,
//! * [`reparse_points`]: symbolic links, and the files of sockets,
//! * [`pipes`]: the first instance of a named pipe,
//! * [`service_session`]: the session of the service control manager,
//! * [`service_exit`]: the end of a service's process.
//!
//! However a program is started, by hand, by the SCM or by another program, it
//! finds the same Windows; no launcher is needed. Rust's std imports this library
//! too, and the functions that it calls by name: in such programs the imports for
//! links are replaced, so that they can look at and remove what Go programs left.
//!
//! The crate is `no_std` because std imports this very library. With unwinding
//! panics (the dev profile, which only serves `cargo check`) it falls back to
//! std, since `no_std` cannot unwind.
#![cfg(windows)]
#![cfg_attr(panic = "abort", no_std)]
#![allow(
    unsafe_code,
    reason = "a DLL of C functions over the Windows API, without std"
)]

extern crate alloc;

#[path = "hooks.rs"]
mod answers;
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

/// Called by the loader; see the crate's text.
#[unsafe(no_mangle)]
extern "system" fn DllMain(_: HINSTANCE, reason: u32, _: *mut c_void) -> BOOL {
    if reason == DLL_PROCESS_ATTACH {
        let of_go = [
            (c"GetProcAddress", answers::get_proc_address as *const ()),
            (c"ExitProcess", service_exit::exit_process as *const ()),
        ];
        imports::replace(&of_go, || {
            let links = reparse_points::wanted().then(reparse_points::answers);
            links.into_iter().flatten().collect()
        });
    }
    TRUE
}
