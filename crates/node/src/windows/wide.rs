//! Text as Windows takes and gives it.
#![allow(unsafe_code, reason = "reads text at an address that Windows gave")]

use std::ffi::OsStr;
use std::os::windows::ffi::OsStrExt;
use std::slice;

/// UTF-16 with its end marked.
pub fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain(Some(0)).collect()
}

/// Text up to its end mark.
///
/// # Safety
///
/// `text` must be null or point at terminated text.
pub unsafe fn from_pointer(text: *const u16) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    let units = unsafe {
        let length = (0..).take_while(|&at| *text.add(at) != 0).count();
        slice::from_raw_parts(text, length)
    };
    String::from_utf16_lossy(units)
}
