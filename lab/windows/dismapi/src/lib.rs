//! `dismapi.dll` for the lab's Windows hosts.
//!
//! Wine has none. This one knows a few features and keeps their state in the
//! registry; features that need a reboot change state at the host's next boot.
//! Enabling a feature has no other effect.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of C functions")]
#![allow(non_snake_case, reason = "names that callers look up")]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use windows_sys::Win32::Foundation::{
    E_ACCESSDENIED, E_INVALIDARG, E_POINTER, ERROR_SUCCESS_REBOOT_REQUIRED, S_OK,
};
use windows_sys::core::{BOOL, HRESULT, PCWSTR};

mod features;

const NOT_INITIALIZED: HRESULT = 0xC004_0001_u32.cast_signed();
const ALREADY_INITIALIZED: HRESULT = 0xC004_0002_u32.cast_signed();
const BAD_SESSION: HRESULT = 0xC004_0005_u32.cast_signed();
const UNKNOWN_FEATURE: HRESULT = 0x800F_080C_u32.cast_signed();
const REBOOT_REQUIRED: HRESULT = ERROR_SUCCESS_REBOOT_REQUIRED.cast_signed();
const ONLINE: &str = "DISM_{53BFAE52-B167-4E2F-A258-0A37B57FF845}";

static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// The open session; 0 for none.
static SESSION: AtomicU32 = AtomicU32::new(0);

/// `DismFeatureInfo`, packed as in the DISM header.
#[repr(C, packed)]
struct FeatureInfo {
    name: PCWSTR,
    state: u32,
    display_name: PCWSTR,
    description: PCWSTR,
    restart: u32,
    properties: *const c_void,
    count: u32,
}

/// With the text that `info` points to.
#[repr(C)]
struct FeatureInfoBuffer {
    info: FeatureInfo,
    text: Vec<u16>,
}

/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn read_text(text: PCWSTR) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let length = (0..).take_while(|&at| *text.add(at) != 0).count();
        String::from_utf16_lossy(core::slice::from_raw_parts(text, length))
    }
}

/// Once per process, until `DismShutdown`.
#[unsafe(no_mangle)]
pub extern "system" fn DismInitialize(_level: u32, _log: PCWSTR, _scratch: PCWSTR) -> HRESULT {
    lab_call_counter::record();
    if INITIALIZED.swap(true, Ordering::SeqCst) {
        ALREADY_INITIALIZED
    } else {
        S_OK
    }
}

/// Also closes the session.
#[unsafe(no_mangle)]
pub extern "system" fn DismShutdown() -> HRESULT {
    SESSION.store(0, Ordering::SeqCst);
    if INITIALIZED.swap(false, Ordering::SeqCst) {
        S_OK
    } else {
        NOT_INITIALIZED
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismOpenSession(
    image: PCWSTR,
    _windows: PCWSTR,
    _drive: PCWSTR,
    session: *mut u32,
) -> HRESULT {
    if !INITIALIZED.load(Ordering::SeqCst) {
        return NOT_INITIALIZED;
    }
    if session.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    unsafe {
        if read_text(image) != ONLINE {
            return E_INVALIDARG;
        }
        *session = 1;
    }
    SESSION.store(1, Ordering::SeqCst);
    S_OK
}

#[unsafe(no_mangle)]
pub extern "system" fn DismCloseSession(session: u32) -> HRESULT {
    if !is_open(session) {
        return BAD_SESSION;
    }
    SESSION.store(0, Ordering::SeqCst);
    S_OK
}

fn is_open(session: u32) -> bool {
    lab_call_counter::record();
    session != 0 && SESSION.load(Ordering::SeqCst) == session
}

/// # Safety
/// The pointers are valid as the C API requires.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismGetFeatureInfo(
    session: u32,
    name: PCWSTR,
    _package: PCWSTR,
    _kind: u32,
    info: *mut *mut c_void,
) -> HRESULT {
    if !is_open(session) {
        return BAD_SESSION;
    }
    if info.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    let name = unsafe { read_text(name) };
    let Some(feature) = features::find(&name) else {
        return UNKNOWN_FEATURE;
    };
    let text: Vec<u16> = feature.name.encode_utf16().chain([0]).collect();
    let info_of = |text: &[u16]| FeatureInfo {
        name: text.as_ptr(),
        state: features::state(feature),
        display_name: text.as_ptr(),
        description: text.as_ptr(),
        // DismRestartNo or DismRestartRequired.
        restart: if feature.needs_reboot { 2 } else { 0 },
        properties: ptr::null(),
        count: 0,
    };
    let buffer = FeatureInfoBuffer {
        info: info_of(&text),
        text,
    };
    // SAFETY: checked for null above; `DismDelete` frees the buffer.
    unsafe { *info = Box::into_raw(Box::new(buffer)).cast() };
    S_OK
}

/// # Safety
/// `info` is null or came from `DismGetFeatureInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismDelete(info: *mut c_void) -> HRESULT {
    if !info.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(info.cast::<FeatureInfoBuffer>()) });
    }
    S_OK
}

/// # Safety
/// The pointers are valid as the C API requires.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismEnableFeature(
    session: u32,
    name: PCWSTR,
    _package: PCWSTR,
    _kind: u32,
    _limit_access: BOOL,
    _sources: *const PCWSTR,
    _source_count: u32,
    _all: BOOL,
    _cancel: *mut c_void,
    _progress: *const c_void,
    _data: *mut c_void,
) -> HRESULT {
    // SAFETY: the pointers are valid as the C API requires.
    unsafe { set_enabled(session, name, true) }
}

/// # Safety
/// The pointers are valid as the C API requires.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismDisableFeature(
    session: u32,
    name: PCWSTR,
    _package: PCWSTR,
    _remove_payload: BOOL,
    _cancel: *mut c_void,
    _progress: *const c_void,
    _data: *mut c_void,
) -> HRESULT {
    // SAFETY: the pointers are valid as the C API requires.
    unsafe { set_enabled(session, name, false) }
}

/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn set_enabled(session: u32, name: PCWSTR, enabled: bool) -> HRESULT {
    if !is_open(session) {
        return BAD_SESSION;
    }
    // SAFETY: guaranteed by the caller.
    let name = unsafe { read_text(name) };
    let Some(feature) = features::find(&name) else {
        return UNKNOWN_FEATURE;
    };
    match features::set_enabled(feature, enabled) {
        Ok(true) => REBOOT_REQUIRED,
        Ok(false) => S_OK,
        Err(_) => E_ACCESSDENIED,
    }
}
