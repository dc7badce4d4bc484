//! Folders that Windows itself names.
#![allow(unsafe_code, reason = "a shell function of the Windows API")]

use std::path::PathBuf;
use std::ptr;

use windows_sys::Win32::System::Com::CoTaskMemFree;
use windows_sys::Win32::UI::Shell::{FOLDERID_ProgramData, SHGetKnownFolderPath};

use super::wide::from_pointer;

/// The folder for data of all users. Not from the environment: that is another
/// one in a session than in a service, and whoever starts a process sets it.
pub fn program_data() -> PathBuf {
    let mut path = ptr::null_mut();
    // SAFETY: the id of a folder, no token, and a place; the text is freed
    // whatever came of it.
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
