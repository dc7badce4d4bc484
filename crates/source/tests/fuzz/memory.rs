//! An allocator that measures peak memory, per thread, so that other tests do not
//! count.

#![allow(unsafe_code, reason = "an allocator is unsafe by its signature")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Hard limit: aborts the process before the machine runs out of memory.
const LIMIT: isize = 1 << 30;

pub struct Counting;

impl Counting {
    pub const fn new() -> Self {
        Self
    }

    pub fn reset(&self) {
        CURRENT.with(|current| current.set(0));
        PEAK.with(|peak| peak.set(0));
    }

    /// Peak since [`Self::reset`], in bytes.
    pub fn peak(&self) -> usize {
        usize::try_from(PEAK.with(Cell::get)).unwrap_or(0)
    }
}

/// Returns the current total. The counters of an ending thread are gone; its frees
/// are ignored.
fn count(bytes: isize) -> isize {
    let counted = CURRENT.try_with(|current| {
        current.set(current.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(current.get())));
        current.get()
    });
    counted.unwrap_or(0)
}

// SAFETY: every call is forwarded to the system allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if count(layout.size() as isize) > LIMIT {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}
