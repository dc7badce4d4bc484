//! The replaced functions, by name.

use core::ffi::{CStr, c_char};
use core::mem::transmute;

use windows_sys::Win32::Foundation::{FARPROC, HMODULE};
use windows_sys::Win32::System::LibraryLoader::GetProcAddress;

use crate::{pipes, reparse_points, service_exit, service_session, unix_sockets};

/// The name of a Windows function, and its replacement.
pub type Hook = (&'static CStr, *const ());

/// Replacement for `GetProcAddress` in the main program.
///
/// Only functions that the library really exports are replaced, so probing for
/// a function still works.
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
        // SAFETY: each hook has the signature of the Windows function.
        Some(hook) => {
            Some(unsafe { transmute::<*const (), unsafe extern "system" fn() -> isize>(hook) })
        }
        None => Some(real),
    }
}

fn find(name: &CStr) -> Option<*const ()> {
    let reparse_points = reparse_points::needed().then(reparse_points::hooks);
    unix_sockets::hooks()
        .into_iter()
        .chain(pipes::hooks())
        .chain(service_exit::hooks())
        .chain(service_session::hooks())
        .chain(reparse_points.into_iter().flatten())
        .find(|(hooked, _)| *hooked == name)
        .map(|(_, function)| function)
}
