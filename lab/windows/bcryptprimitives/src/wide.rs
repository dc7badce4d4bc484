//! UTF-16 strings of the Windows API.

use alloc::string::String;
use alloc::vec::Vec;

/// Without the NUL.
///
/// # Safety
///
/// `text` must be null or point to a NUL-terminated string.
pub unsafe fn units<'a>(text: *const u16) -> &'a [u16] {
    if text.is_null() {
        return &[];
    }
    let mut length = 0;
    // SAFETY: the caller guarantees the NUL.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: all units up to the NUL were read above.
    unsafe { core::slice::from_raw_parts(text, length) }
}

/// UTF-16 with a trailing NUL.
pub fn terminated(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// UTF-16 to UTF-8; lone surrogates become U+FFFD.
pub fn text(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}
