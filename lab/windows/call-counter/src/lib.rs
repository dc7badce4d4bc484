//! Counts the calls into a DLL of the lab's Windows hosts.
//!
//! Every DLL that is linked with this exports `LabCalls`. A test that asks for
//! the number before and after a call knows whether the DLL had a part in it;
//! a DLL of Windows' or Wine's own has no such function.
#![allow(unsafe_code, reason = "an exported C function")]
#![allow(non_snake_case, reason = "a name that callers look up")]

use core::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// The DLL has been called.
pub fn called() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

/// How often the DLL has been called in this process.
#[unsafe(no_mangle)]
pub extern "system" fn LabCalls() -> u32 {
    CALLS.load(Ordering::Relaxed)
}
