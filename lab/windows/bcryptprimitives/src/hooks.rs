//! Which function answers for which name.

use core::ffi::{CStr, c_char};
use core::mem::transmute;

use windows_sys::Win32::Foundation::{FARPROC, HMODULE};
use windows_sys::Win32::System::LibraryLoader::GetProcAddress;

use crate::{pipes, reparse_points, service_exit, service_session, unix_sockets};

/// A function of ours under its Windows name.
pub type Answer = (&'static CStr, *const ());

/// What the main program calls instead of `GetProcAddress`.
///
/// Only functions that Windows' library really has are replaced, so a program
/// that probes for a function still learns the truth.
pub unsafe extern "system" fn get_proc_address(library: HMODULE, name: *const u8) -> FARPROC {
    // SAFETY: the arguments are the caller's.
    let real = unsafe { GetProcAddress(library, name) }?;
    // Small values are ordinals.
    if (name as usize) <= usize::from(u16::MAX) {
        return Some(real);
    }
    // SAFETY: the caller's name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name.cast::<c_char>()) };
    match find(name) {
        // SAFETY: each answer has the signature that its name has on Windows.
        Some(ours) => {
            Some(unsafe { transmute::<*const (), unsafe extern "system" fn() -> isize>(ours) })
        }
        None => Some(real),
    }
}

fn find(name: &CStr) -> Option<*const ()> {
    let links = reparse_points::wanted().then(reparse_points::answers);
    unix_sockets::answers()
        .into_iter()
        .chain(pipes::answers())
        .chain(service_exit::answers())
        .chain(service_session::answers())
        .chain(links.into_iter().flatten())
        .find(|(ours, _)| *ours == name)
        .map(|(_, function)| function)
}
