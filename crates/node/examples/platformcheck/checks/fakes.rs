//! Call counters of the fake DLLs that replace those of Windows in the lab. A real
//! Windows has none of them.
#![allow(unsafe_code, reason = "functions of dynamically loaded libraries")]

use std::sync::OnceLock;

use crate::recorder::Counts;
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryW};

/// Relative to System32.
const PATHS: [&str; 6] = [
    "computenetwork.dll",
    "dismapi.dll",
    "hnetcfg.dll",
    "iphlpapi.dll",
    "vmcompute.dll",
    r"wbem\wbemprox.dll",
];

/// The function that a fake exports to return its call count.
type Calls = unsafe extern "system" fn() -> u32;

pub fn counts() -> Counts {
    static FOUND: OnceLock<Vec<(&str, Calls)>> = OnceLock::new();
    let found = FOUND.get_or_init(|| PATHS.into_iter().filter_map(find).collect());
    let count = |(name, calls): &(&str, Calls)| {
        // SAFETY: the library stays loaded, and the function has no arguments.
        ((*name).to_owned(), unsafe { calls() })
    };
    found.iter().map(count).collect()
}

fn find(relative_path: &'static str) -> Option<(&'static str, Calls)> {
    let name = relative_path.rsplit('\\').next().unwrap_or(relative_path);
    let path = format!(r"C:\windows\system32\{relative_path}");
    let wide: Vec<u16> = path.encode_utf16().chain([0]).collect();
    // SAFETY: NUL-terminated text.
    let library = unsafe { LoadLibraryW(wide.as_ptr()) };
    if library.is_null() {
        return None;
    }
    // SAFETY: a library that stays loaded, and a NUL-terminated name.
    let function = unsafe { GetProcAddress(library, c"LabCalls".as_ptr().cast()) }?;
    // SAFETY: only the fakes of the lab export this function, with this signature.
    Some((name, unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, Calls>(function)
    }))
}
