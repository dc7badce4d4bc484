//! `hnscall METHOD PATH [FILE]`: calls HNS from the command line.
//!
//! On Windows, PowerShell can do this; a lab host has none. The request body is
//! read from a file, the response is printed unchanged.

#[cfg(windows)]
mod call {
    #![allow(
        unsafe_code,
        reason = "HNSCall is looked up at run time, as other callers do"
    )]

    use std::ffi::{OsStr, OsString, c_void};
    use std::os::windows::ffi::{OsStrExt, OsStringExt};

    use windows_sys::Win32::System::Com::CoTaskMemFree;
    use windows_sys::Win32::System::LibraryLoader::{
        GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
    };

    type HnsCall = unsafe extern "system" fn(
        method: *const u16,
        path: *const u16,
        request: *const u16,
        response: *mut *mut u16,
    ) -> u32;

    fn wide(text: &str) -> Vec<u16> {
        OsStr::new(text).encode_wide().chain([0]).collect()
    }

    fn lookup() -> Result<HnsCall, String> {
        let name = wide("vmcompute.dll");
        // SAFETY: the name is NUL-terminated and outlives the call.
        let library = unsafe {
            LoadLibraryExW(
                name.as_ptr(),
                std::ptr::null_mut(),
                LOAD_LIBRARY_SEARCH_SYSTEM32,
            )
        };
        if library.is_null() {
            return Err("vmcompute.dll not found: this host has no HNS".to_owned());
        }
        // SAFETY: the module was just loaded and is never unloaded.
        let function = unsafe { GetProcAddress(library, c"HNSCall".as_ptr().cast()) };
        let function = function.ok_or("vmcompute.dll has no HNSCall")?;
        // SAFETY: HNSCall has this signature in every release of Windows.
        Ok(unsafe {
            std::mem::transmute::<unsafe extern "system" fn() -> isize, HnsCall>(function)
        })
    }

    /// The response, or an error message.
    pub fn call(method: &str, path: &str, body: &str) -> Result<String, String> {
        let function = lookup()?;
        let (method, path, body) = (wide(method), wide(path), wide(body));
        let mut response: *mut u16 = std::ptr::null_mut();
        // SAFETY: all strings are NUL-terminated and outlive the call.
        let result =
            unsafe { function(method.as_ptr(), path.as_ptr(), body.as_ptr(), &mut response) };
        let text = take(response);
        match result {
            0 => Ok(text),
            code => Err(format!("{code:#010x} {text}")),
        }
    }

    fn take(text: *mut u16) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: HNS returns a NUL-terminated string that the caller frees.
        unsafe {
            let length = (0..).take_while(|index| *text.add(*index) != 0).count();
            let units = std::slice::from_raw_parts(text, length);
            let owned = OsString::from_wide(units).to_string_lossy().into_owned();
            CoTaskMemFree(text.cast::<c_void>());
            owned
        }
    }
}

#[cfg(windows)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.as_slice() {
        [method, path] => call::call(method, path, ""),
        [method, path, file] => match std::fs::read_to_string(file) {
            Ok(body) => call::call(method, path, &body),
            Err(error) => Err(format!("{file}: {error}")),
        },
        _ => Err("usage: hnscall METHOD PATH [FILE]".to_owned()),
    };
    match result {
        // HNS reports most errors in the response.
        Ok(response) => {
            println!("{response}");
            if !response.contains("\"Success\":true") {
                std::process::exit(1);
            }
        }
        Err(text) => {
            eprintln!("{text}");
            std::process::exit(1);
        }
    }
}

#[cfg(not(windows))]
fn main() {
    eprintln!("hnscall: this program runs only on Windows");
}
