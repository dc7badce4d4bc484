//! A library of the system's, loaded by name.

use std::ffi::{CString, c_void};
use std::ptr::{self, NonNull};

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};

use crate::error::HcnError;

use super::text;

/// Stays loaded for as long as the process lives: these libraries have threads
/// of their own, and unloading them has brought processes down.
#[derive(Clone, Copy)]
pub(super) struct Library {
    module: NonNull<c_void>,
    name: &'static str,
}

// SAFETY: a module handle is an address that stays valid (the library is never
// unloaded), and looking up functions is safe from every thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads it from the system's folder and from nowhere else.
    pub(super) fn load(name: &'static str) -> Result<Self, HcnError> {
        let wide = text::wide(name);
        // SAFETY: a terminated string, and no file handle, as the function wants.
        let module: HMODULE =
            unsafe { LoadLibraryExW(wide.as_ptr(), ptr::null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
        NonNull::new(module)
            .map(|module| Self { module, name })
            .ok_or(HcnError::Absent { library: name })
    }

    /// The address of a function; never null.
    pub(super) fn function(&self, function: &str) -> Result<NonNull<c_void>, HcnError> {
        let missing = || HcnError::Incomplete {
            library: self.name,
            function: function.to_owned(),
        };
        let name = CString::new(function).map_err(|_| missing())?;
        // SAFETY: the module is loaded, the name terminated.
        let address = unsafe { GetProcAddress(self.module.as_ptr(), name.as_ptr().cast()) };
        address
            .and_then(|address| NonNull::new(address as *mut c_void))
            .ok_or_else(missing)
    }
}
