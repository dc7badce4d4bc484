//! Conversion from and to UTF-16.
#![allow(unsafe_code, reason = "reads text through a pointer from Windows")]

use std::ffi::OsStr;
use std::os::windows::ffi::OsStrExt;
use std::slice;

/// NUL-terminated UTF-16.
pub fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain(Some(0)).collect()
}

/// Reads up to the NUL.
///
/// # Safety
///
/// `text` must be null or point to NUL-terminated text.
pub unsafe fn from_pointer(text: *const u16) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let units = unsafe {
        let length = (0..).take_while(|&at| *text.add(at) != 0).count();
        slice::from_raw_parts(text, length)
    };
    String::from_utf16_lossy(units)
}
