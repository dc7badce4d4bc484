//! Counts the calls into an emulator DLL on the lab's Windows hosts.
//!
//! Every DLL that links this crate exports `LabCalls`. A test compares the
//! count before and after a call to see whether the emulator handled it; the
//! DLLs of Windows and Wine have no such function.
#![allow(unsafe_code, reason = "an exported C function")]
#![allow(non_snake_case, reason = "a name that callers look up")]

use core::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Records one call into the DLL.
pub fn record() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

/// The number of calls in this process.
#[unsafe(no_mangle)]
pub extern "system" fn LabCalls() -> u32 {
    CALLS.load(Ordering::Relaxed)
}
