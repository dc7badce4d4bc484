//! Conversion between Windows and Unix paths by the rules of Wine (drives, case,
//! current directory).

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Win32::Foundation::{FARPROC, HANDLE};
use windows_sys::Win32::Storage::FileSystem::{FILE_NAME_NORMALIZED, GetFinalPathNameByHandleW};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::Memory::{GetProcessHeap, HeapFree};

use crate::wide;

const BACKSLASH: u16 = b'\\' as u16;
const SLASH: u16 = b'/' as u16;
const COLON: u16 = b':' as u16;

/// Maximum path length of Windows, in UTF-16 units.
const MAX_PATH_UNITS: usize = 32_768;

/// The last component need not exist. `None` for devices and pipes.
pub fn to_unix(path: &[u16]) -> Option<CString> {
    const DEVICES: [u16; 4] = [BACKSLASH, BACKSLASH, b'.' as u16, BACKSLASH];
    if path.is_empty() || path.starts_with(&DEVICES) {
        return None;
    }
    let terminated: Vec<u16> = path.iter().copied().chain([0]).collect();
    // SAFETY: the signature of Wine's function; it returns a string on the
    // process heap, or null.
    unsafe {
        let convert: unsafe extern "C" fn(*const u16) -> *mut c_char =
            transmute(wine_function(c"wine_get_unix_file_name")?);
        let result = convert(terminated.as_ptr());
        if result.is_null() {
            return None;
        }
        let path = CStr::from_ptr(result).into();
        HeapFree(GetProcessHeap(), 0, result.cast::<c_void>());
        Some(path)
    }
}

pub fn to_windows(path: &CStr) -> Option<Vec<u16>> {
    // SAFETY: as in `to_unix`.
    unsafe {
        let convert: unsafe extern "C" fn(*const c_char) -> *mut u16 =
            transmute(wine_function(c"wine_get_dos_file_name")?);
        let result = convert(path.as_ptr());
        if result.is_null() {
            return None;
        }
        let path = wide::units(result).to_vec();
        HeapFree(GetProcessHeap(), 0, result.cast::<c_void>());
        Some(path)
    }
}

pub fn of_handle(handle: HANDLE) -> Option<Vec<u16>> {
    let mut path = Vec::with_capacity(MAX_PATH_UNITS);
    // SAFETY: the buffer has room for MAX_PATH_UNITS units.
    unsafe {
        let length = GetFinalPathNameByHandleW(
            handle,
            path.as_mut_ptr(),
            MAX_PATH_UNITS as u32,
            FILE_NAME_NORMALIZED,
        ) as usize;
        if length == 0 || length >= MAX_PATH_UNITS {
            return None;
        }
        path.set_len(length);
    }
    Some(path)
}

/// The Windows path of an NT object: a directory handle with a relative name, or
/// a full NT path such as `\??\C:\var`.
///
/// # Safety
///
/// `object` must be null or a valid OBJECT_ATTRIBUTES.
pub unsafe fn of_object(object: *const OBJECT_ATTRIBUTES) -> Option<Vec<u16>> {
    const NT: [u16; 4] = [BACKSLASH, b'?' as u16, b'?' as u16, BACKSLASH];
    const WIN32: [u16; 4] = [BACKSLASH, BACKSLASH, b'?' as u16, BACKSLASH];
    // SAFETY: the caller guarantees the structure and its name.
    let (root, name) = unsafe {
        let object = object.as_ref()?;
        let name = object.ObjectName.as_ref()?;
        let units = usize::from(name.Length) / 2;
        if units == 0 {
            return None;
        }
        (
            object.RootDirectory,
            core::slice::from_raw_parts(name.Buffer, units),
        )
    };
    if root.is_null() {
        let rest = name.strip_prefix(&NT)?;
        return Some([&WIN32[..], rest].concat());
    }
    Some(join(of_handle(root)?, name))
}

pub fn join(mut directory: Vec<u16>, name: &[u16]) -> Vec<u16> {
    if !directory.last().copied().is_some_and(is_separator) {
        directory.push(BACKSLASH);
    }
    directory.extend_from_slice(name);
    directory
}

/// With the trailing separator; empty for a bare name.
pub fn parent(path: &[u16]) -> &[u16] {
    let end = path.iter().rposition(|&unit| is_separator(unit));
    &path[..end.map_or(0, |last| last + 1)]
}

/// A path with a trailing separator refers to the target of a link.
pub fn ends_in_separator(path: &[u16]) -> bool {
    path.last().copied().is_some_and(is_separator)
}

/// Relative to the directory of the link.
pub fn is_relative(path: &[u16]) -> bool {
    !matches!(path, [first, ..] if is_separator(*first)) && !matches!(path, [_, COLON, ..])
}

fn is_separator(unit: u16) -> bool {
    unit == BACKSLASH || unit == SLASH
}

fn wine_function(function: &CStr) -> FARPROC {
    // SAFETY: kernel32 is loaded in every process.
    unsafe {
        let kernel32 = GetModuleHandleA(c"kernel32.dll".as_ptr().cast());
        GetProcAddress(kernel32, function.as_ptr().cast())
    }
}
