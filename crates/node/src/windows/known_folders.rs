//! Known folders of Windows.
#![allow(unsafe_code, reason = "a shell function of the Windows API")]

use std::path::PathBuf;
use std::ptr;

use windows_sys::Win32::System::Com::CoTaskMemFree;
use windows_sys::Win32::UI::Shell::{FOLDERID_ProgramData, SHGetKnownFolderPath};

use super::wide::from_pointer;

/// Not from the environment: the value differs between a session and a service, and
/// the parent process controls it.
pub fn program_data() -> PathBuf {
    let mut path = ptr::null_mut();
    // SAFETY: a valid ID, no token, and a writable pointer; the text is freed
    // on success and on failure.
    unsafe {
        let code = SHGetKnownFolderPath(&FOLDERID_ProgramData, 0, ptr::null_mut(), &mut path);
        let text = if code == 0 {
            from_pointer(path)
        } else {
            String::new()
        };
        CoTaskMemFree(path.cast());
        if text.is_empty() {
            r"C:\ProgramData".into()
        } else {
            text.into()
        }
    }
}
