//! A system library, loaded by name.

use std::ffi::{CString, c_void};
use std::ptr::{self, NonNull};

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};

use crate::error::HcnError;

use super::text;

/// Never unloaded: these libraries have their own threads, and unloading them has
/// crashed processes.
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
    /// Loads only from the system folder.
    pub(super) fn load(name: &'static str) -> Result<Self, HcnError> {
        let wide = text::wide(name);
        // SAFETY: a terminated string, and no file handle, as required.
        let module: HMODULE =
            unsafe { LoadLibraryExW(wide.as_ptr(), ptr::null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
        NonNull::new(module)
            .map(|module| Self { module, name })
            .ok_or(HcnError::MissingLibrary { library: name })
    }

    /// The address of a function; never null.
    pub(super) fn function(&self, function: &str) -> Result<NonNull<c_void>, HcnError> {
        let missing = || HcnError::MissingFunction {
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
