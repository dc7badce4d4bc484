//! The DLLs that stand in for Windows' own on a host of the lab: how often each
//! was called. A real Windows has none of them.
#![allow(unsafe_code, reason = "functions of libraries that are loaded by name")]

use std::sync::OnceLock;

use casement_node::recorded::Counts;
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryW};

/// Those that the agent may call, below the system's folder.
const PLACES: [&str; 6] = [
    "computenetwork.dll",
    "dismapi.dll",
    "hnetcfg.dll",
    "iphlpapi.dll",
    "vmcompute.dll",
    r"wbem\wbemprox.dll",
];

/// What a stand-in exports to say how often it was called.
type Calls = unsafe extern "system" fn() -> u32;

/// How often each has been called by now.
pub fn counts() -> Counts {
    static FOUND: OnceLock<Vec<(&str, Calls)>> = OnceLock::new();
    let found = FOUND.get_or_init(|| PLACES.into_iter().filter_map(find).collect());
    let count = |(name, calls): &(&str, Calls)| {
        // SAFETY: the library stays, and the function takes nothing.
        ((*name).to_owned(), unsafe { calls() })
    };
    found.iter().map(count).collect()
}

fn find(place: &'static str) -> Option<(&'static str, Calls)> {
    let name = place.rsplit('\\').next().unwrap_or(place);
    let path = format!(r"C:\windows\system32\{place}");
    let wide: Vec<u16> = path.encode_utf16().chain([0]).collect();
    // SAFETY: terminated text.
    let library = unsafe { LoadLibraryW(wide.as_ptr()) };
    if library.is_null() {
        return None;
    }
    // SAFETY: a library that stays loaded, and a terminated name.
    let function = unsafe { GetProcAddress(library, c"LabCalls".as_ptr().cast()) }?;
    // SAFETY: only the lab's own have a function of that name, and it is this.
    Some((name, unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, Calls>(function)
    }))
}
