//! An allocator that counts: how much was held at most since it was asked to
//! look.
//!
//! Counts are those of one thread, so that tests beside it do not count.

#![allow(unsafe_code, reason = "an allocator is unsafe by its signature")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Nobody gets more: what runs away ends the process before the machine does.
const LIMIT: isize = 1 << 30;

/// The system's allocator, counted.
pub struct Counting;

impl Counting {
    /// For the static that is the allocator.
    pub const fn new() -> Self {
        Self
    }

    /// Counts from here on.
    pub fn begin(&self) {
        HELD.with(|held| held.set(0));
        MOST.with(|most| most.set(0));
    }

    /// The most that was held at once since then.
    pub fn most(&self) -> usize {
        usize::try_from(MOST.with(Cell::get)).unwrap_or(0)
    }
}

/// What is held now. A thread that ends has no counters any more; what it frees
/// does not matter.
fn count(bytes: isize) -> isize {
    let counted = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
        held.get()
    });
    counted.unwrap_or(0)
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if count(layout.size() as isize) > LIMIT {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}
