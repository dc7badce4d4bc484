//! `dismapi.dll` for the lab's Windows hosts.
//!
//! Wine has none. Here a few features are known, and are switched on and off in
//! the registry; those that need a boot, wait for the next one of the host.
//! There is nothing behind a feature that is on.
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
/// The session that is open; 0 is none.
static SESSION: AtomicU32 = AtomicU32::new(0);

/// What is told of a feature, packed as in DISM's header.
#[repr(C, packed)]
struct Info {
    name: PCWSTR,
    state: u32,
    display_name: PCWSTR,
    description: PCWSTR,
    restart: u32,
    properties: *const c_void,
    count: u32,
}

/// The same, with the text that it points to.
#[repr(C)]
struct Told {
    info: Info,
    text: Vec<u16>,
}

/// # Safety
/// `text` is null or terminated.
unsafe fn read(text: PCWSTR) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    unsafe {
        let length = (0..).take_while(|&at| *text.add(at) != 0).count();
        String::from_utf16_lossy(core::slice::from_raw_parts(text, length))
    }
}

/// Once for a process, until it is shut down.
#[unsafe(no_mangle)]
pub extern "system" fn DismInitialize(_level: u32, _log: PCWSTR, _scratch: PCWSTR) -> HRESULT {
    lab_witness::called();
    if INITIALIZED.swap(true, Ordering::SeqCst) {
        ALREADY_INITIALIZED
    } else {
        S_OK
    }
}

/// Ends the session, too.
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
/// The pointers are as the C API says.
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
    // SAFETY: as the C API says.
    unsafe {
        if read(image) != ONLINE {
            return E_INVALIDARG;
        }
        *session = 1;
    }
    SESSION.store(1, Ordering::SeqCst);
    S_OK
}

/// Closes the session that is open.
#[unsafe(no_mangle)]
pub extern "system" fn DismCloseSession(session: u32) -> HRESULT {
    if !is_open(session) {
        return BAD_SESSION;
    }
    SESSION.store(0, Ordering::SeqCst);
    S_OK
}

fn is_open(session: u32) -> bool {
    lab_witness::called();
    session != 0 && SESSION.load(Ordering::SeqCst) == session
}

/// # Safety
/// The pointers are as the C API says.
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
    // SAFETY: as the C API says.
    let name = unsafe { read(name) };
    let Some(feature) = features::known(&name) else {
        return UNKNOWN_FEATURE;
    };
    let text: Vec<u16> = feature.name.encode_utf16().chain([0]).collect();
    let info_of = |text: &[u16]| Info {
        name: text.as_ptr(),
        state: features::state(feature),
        display_name: text.as_ptr(),
        description: text.as_ptr(),
        // No, or required.
        restart: if feature.needs_boot { 2 } else { 0 },
        properties: ptr::null(),
        count: 0,
    };
    let told = Told {
        info: info_of(&text),
        text,
    };
    // SAFETY: a place for it; `DismDelete` takes it back.
    unsafe { *info = Box::into_raw(Box::new(told)).cast() };
    S_OK
}

/// # Safety
/// `info` is null or came from `DismGetFeatureInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DismDelete(info: *mut c_void) -> HRESULT {
    if !info.is_null() {
        // SAFETY: the caller vouches for it.
        drop(unsafe { Box::from_raw(info.cast::<Told>()) });
    }
    S_OK
}

/// # Safety
/// The pointers are as the C API says.
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
    // SAFETY: as the C API says.
    unsafe { switch(session, name, true) }
}

/// # Safety
/// The pointers are as the C API says.
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
    // SAFETY: as the C API says.
    unsafe { switch(session, name, false) }
}

/// # Safety
/// `name` is null or terminated.
unsafe fn switch(session: u32, name: PCWSTR, on: bool) -> HRESULT {
    if !is_open(session) {
        return BAD_SESSION;
    }
    // SAFETY: the caller vouches for it.
    let name = unsafe { read(name) };
    let Some(feature) = features::known(&name) else {
        return UNKNOWN_FEATURE;
    };
    match features::switch(feature, on) {
        Ok(true) => REBOOT_REQUIRED,
        Ok(false) => S_OK,
        Err(_) => E_ACCESSDENIED,
    }
}
