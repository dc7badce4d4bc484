//! Text as Windows takes and gives it.

use std::slice;

use windows_sys::Win32::System::Com::CoTaskMemFree;

/// UTF-16 with its end marked. JSON and names hold no NUL of their own.
pub(super) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain(Some(0)).collect()
}

/// A place for text that a call gives: null until then, freed in the end.
pub(super) struct Given(*mut u16);

impl Given {
    pub(super) const fn nothing() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Where the call is to put its text.
    pub(super) fn place(&mut self) -> *mut *mut u16 {
        &mut self.0
    }

    pub(super) fn text(&self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: not null, so a call has put terminated text there.
        let units = unsafe {
            let length = (0..).take_while(|&at| *self.0.add(at) != 0).count();
            slice::from_raw_parts(self.0, length)
        };
        Some(String::from_utf16_lossy(units))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // SAFETY: null, or text that the caller has to free so.
        unsafe { CoTaskMemFree(self.0.cast()) };
    }
}
