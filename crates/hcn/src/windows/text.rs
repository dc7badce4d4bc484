//! UTF-16 text for Windows calls.

use std::slice;

use windows_sys::Win32::System::Com::CoTaskMemFree;

/// NUL-terminated UTF-16. JSON and names contain no NUL.
pub(super) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain(Some(0)).collect()
}

/// Text that a call returns through an out-pointer; freed on drop.
pub(super) struct OutText(*mut u16);

impl OutText {
    pub(super) const fn null() -> Self {
        Self(std::ptr::null_mut())
    }

    pub(super) fn as_out_pointer(&mut self) -> *mut *mut u16 {
        &mut self.0
    }

    pub(super) fn text(&self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: not null, so a call has stored terminated text.
        let units = unsafe {
            let length = (0..).take_while(|&at| *self.0.add(at) != 0).count();
            slice::from_raw_parts(self.0, length)
        };
        Some(String::from_utf16_lossy(units))
    }
}

impl Drop for OutText {
    fn drop(&mut self) {
        // SAFETY: null, or text that the caller has to free this way.
        unsafe { CoTaskMemFree(self.0.cast()) };
    }
}
