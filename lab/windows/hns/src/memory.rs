//! Conversion of strings, ids and handles between C and Rust.
#![allow(unsafe_code, reason = "the callers of a C API pass pointers")]

use std::ffi::c_void;
use std::ptr;

use lab_wire::hcn::Object;
use windows_sys::Win32::System::Com::CoTaskMemAlloc;
use windows_sys::core::GUID;

/// UTF-16 with a NUL at the end.
pub type WideText = *const u16;
/// Out parameter for a string that the caller frees with `CoTaskMemFree`.
pub type TextOut = *mut *mut u16;
pub type Handle = *mut c_void;

/// The object behind a [`Handle`].
#[derive(Debug, Clone)]
pub struct OpenObject {
    pub object: Object,
    pub id: String,
}

/// Reads a text; NULL reads as empty.
///
/// # Safety
/// `text` is NULL or points to UTF-16 that ends with a NUL.
pub unsafe fn read_text(text: WideText) -> String {
    if text.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: every unit up to and including the NUL is readable.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: `length` units before the NUL were just read.
    String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(text, length) })
}

/// Writes a string for the caller; NULL if the allocation fails.
///
/// # Safety
/// `to` is NULL or valid for writes.
pub unsafe fn write_text(to: TextOut, text: &str) {
    if to.is_null() {
        return;
    }
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    // SAFETY: a plain allocation; the size is that of an existing vector.
    let memory = unsafe { CoTaskMemAlloc(units.len() * 2) }.cast::<u16>();
    if !memory.is_null() {
        // SAFETY: the new block holds `units.len()` units and overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(units.as_ptr(), memory, units.len()) };
    }
    // SAFETY: not NULL, and writable by contract.
    unsafe { *to = memory };
}

/// Writes NULL. Callers reuse the variable and free what is in it, so it must
/// not keep an old pointer.
///
/// # Safety
/// `to` is NULL or valid for writes.
pub unsafe fn write_null(to: TextOut) {
    if !to.is_null() {
        // SAFETY: not NULL, and writable by contract.
        unsafe { *to = ptr::null_mut() };
    }
}

/// Reads an id as 36 lower-case characters; NULL reads as empty.
///
/// # Safety
/// `id` is NULL or points to a GUID.
pub unsafe fn read_id(id: *const GUID) -> String {
    if id.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, and a GUID by contract.
    let id = unsafe { id.read_unaligned() };
    let [a, b, rest @ ..] = id.data4;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{:08x}-{:04x}-{:04x}-{a:02x}{b:02x}-{rest}",
        id.data1, id.data2, id.data3
    )
}

/// # Safety
/// `to` is NULL or valid for writes.
pub unsafe fn write_handle(to: *mut Handle, opened: OpenObject) {
    if !to.is_null() {
        let handle = Box::into_raw(Box::new(opened)).cast::<c_void>();
        // SAFETY: not NULL, and writable by contract.
        unsafe { *to = handle };
    }
}

/// `None` for NULL.
///
/// # Safety
/// `handle` is NULL or came from [`write_handle`] and was not closed.
pub unsafe fn read_handle(handle: Handle) -> Option<OpenObject> {
    // SAFETY: a live box by contract.
    unsafe { handle.cast::<OpenObject>().as_ref() }.cloned()
}

/// Does nothing for NULL.
///
/// # Safety
/// `handle` is NULL or came from [`write_handle`] and was not closed.
pub unsafe fn close_handle(handle: Handle) {
    if !handle.is_null() {
        // SAFETY: a live box by contract; the caller gives it up.
        drop(unsafe { Box::from_raw(handle.cast::<OpenObject>()) });
    }
}
