//! Replacement for parts of std: an allocator over the process heap, and a panic
//! handler that ends the process.

use core::alloc::{GlobalAlloc, Layout};

use windows_sys::Win32::System::Memory::{GetProcessHeap, HeapAlloc, HeapFree};

struct ProcessHeap;

/// Guaranteed by `HeapAlloc` on 64-bit Windows; nothing here needs more.
const HEAP_ALIGNMENT: usize = 16;

// SAFETY: HeapAlloc and HeapFree fulfill the contract for alignments up to 16;
// larger ones fail.
unsafe impl GlobalAlloc for ProcessHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > HEAP_ALIGNMENT {
            return core::ptr::null_mut();
        }
        // SAFETY: the process heap always exists.
        unsafe { HeapAlloc(GetProcessHeap(), 0, layout.size()).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the memory came from `alloc`.
        unsafe { HeapFree(GetProcessHeap(), 0, memory.cast()) };
    }
}

#[global_allocator]
static HEAP: ProcessHeap = ProcessHeap;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    use windows_sys::Win32::System::Threading::ExitProcess;
    // SAFETY: ends the process, whatever its state.
    unsafe { ExitProcess(101) }
}

/// The precompiled `alloc` refers to this in its unwind tables; nothing ever
/// unwinds.
#[cfg(panic = "abort")]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
