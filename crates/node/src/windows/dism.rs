//! Optional Windows features, through the DISM library.
//!
//! The library is loaded on demand: most hosts have nothing to change, and opening a
//! session takes seconds.
#![allow(unsafe_code, reason = "DISM's functions")]

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use casement_resource::{Failure, WindowsFeatureFacts};
use windows_sys::Win32::Foundation::{ERROR_SUCCESS_REBOOT_REQUIRED, HMODULE};
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};
use windows_sys::core::{BOOL, HRESULT, PCWSTR, w};

use super::com;
use super::failure::last_error;
use super::wide::wide;

/// The running Windows.
const ONLINE: PCWSTR = w!("DISM_{53BFAE52-B167-4E2F-A258-0A37B57FF845}");
/// Error code for an unknown feature name.
const UNKNOWN_FEATURE: u32 = 0x800F_080C;
/// Log errors only.
const LOG_ERRORS: u32 = 0;
/// A feature of Windows itself, not of a package.
const NO_PACKAGE: u32 = 0;

type Session = u32;
type Initialize = unsafe extern "system" fn(u32, PCWSTR, PCWSTR) -> HRESULT;
type Shutdown = unsafe extern "system" fn() -> HRESULT;
type OpenSession = unsafe extern "system" fn(PCWSTR, PCWSTR, PCWSTR, *mut Session) -> HRESULT;
type CloseSession = unsafe extern "system" fn(Session) -> HRESULT;
type GetFeatureInfo =
    unsafe extern "system" fn(Session, PCWSTR, PCWSTR, u32, *mut *mut FeatureInfo) -> HRESULT;
type Delete = unsafe extern "system" fn(*mut FeatureInfo) -> HRESULT;
type EnableFeature = unsafe extern "system" fn(
    Session,
    PCWSTR,
    PCWSTR,
    u32,
    BOOL,
    *const PCWSTR,
    u32,
    BOOL,
    *mut c_void,
    *const c_void,
    *mut c_void,
) -> HRESULT;
type DisableFeature = unsafe extern "system" fn(
    Session,
    PCWSTR,
    PCWSTR,
    BOOL,
    *mut c_void,
    *const c_void,
    *mut c_void,
) -> HRESULT;

/// The first fields of `DismFeatureInfo`; packed as in its header.
#[repr(C, packed)]
struct FeatureInfo {
    name: PCWSTR,
    state: u32,
}

/// Closes the session and DISM on drop.
pub struct Dism {
    module: HMODULE,
    session: Session,
    // DISM is initialized per process.
    _lock: MutexGuard<'static, ()>,
}

macro_rules! call {
    ($module:expr, $name:literal as $signature:ty, $($argument:expr),*) => {
        match function($module, $name) {
            None => Err(E_NOTIMPL),
            Some(address) => {
                // SAFETY: the signature and arguments match the DISM header.
                let code = unsafe {
                    let function: $signature = transmute(address);
                    function($($argument),*)
                };
                if code < 0 { Err(code) } else { Ok(code) }
            }
        }
    };
}

const E_NOTIMPL: HRESULT = windows_sys::Win32::Foundation::E_NOTIMPL;

fn function(module: HMODULE, name: &CStr) -> Option<unsafe extern "system" fn() -> isize> {
    // SAFETY: a loaded library and a NUL-terminated name.
    unsafe { GetProcAddress(module, name.as_ptr().cast()) }
}

impl Dism {
    pub fn open() -> Result<Self, Failure> {
        static LOCK: Mutex<()> = Mutex::new(());
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a NUL-terminated name; the file handle must be null.
        let module = unsafe {
            LoadLibraryExW(
                w!("dismapi.dll"),
                ptr::null_mut(),
                LOAD_LIBRARY_SEARCH_SYSTEM32,
            )
        };
        if module.is_null() {
            return Err(last_error("load the DISM library `dismapi.dll`"));
        }
        let failed = |code| com::failure("open a DISM session", code);
        let nothing = ptr::null();
        call!(
            module,
            c"DismInitialize" as Initialize,
            LOG_ERRORS,
            nothing,
            nothing
        )
        .map_err(failed)?;
        let mut session = 0;
        let session_pointer = &raw mut session;
        let opened = call!(
            module,
            c"DismOpenSession" as OpenSession,
            ONLINE,
            nothing,
            nothing,
            session_pointer
        );
        if let Err(code) = opened {
            let _ = call!(module, c"DismShutdown" as Shutdown,);
            return Err(failed(code));
        }
        Ok(Self {
            module,
            session,
            _lock: lock,
        })
    }

    pub fn feature(&self, name: &str) -> Result<WindowsFeatureFacts, Failure> {
        let (text, nothing) = (wide(name), ptr::null());
        let mut info = ptr::null_mut();
        let result = call!(
            self.module,
            c"DismGetFeatureInfo" as GetFeatureInfo,
            self.session,
            text.as_ptr(),
            nothing,
            NO_PACKAGE,
            &mut info
        );
        match result {
            Ok(_) => {}
            Err(code) if code.cast_unsigned() == UNKNOWN_FEATURE => {
                return Ok(WindowsFeatureFacts::Unknown);
            }
            Err(code) => {
                let action = format!("read the feature `{name}`");
                return Err(com::failure(action, code));
            }
        }
        if info.is_null() {
            return Ok(WindowsFeatureFacts::Unknown);
        }
        // SAFETY: allocated by DISM and freed below.
        let state = unsafe { (*info).state };
        let _ = call!(self.module, c"DismDelete" as Delete, info);
        Ok(facts(state))
    }

    /// Returns whether a reboot is required.
    pub fn set_feature(&self, name: &str, present: bool) -> Result<bool, Failure> {
        let (text, nothing) = (wide(name), ptr::null());
        let (no, yes) = (0, 1);
        let no_event = ptr::null_mut();
        let no_data = ptr::null_mut();
        let done = if present {
            call!(
                self.module,
                c"DismEnableFeature" as EnableFeature,
                self.session,
                text.as_ptr(),
                nothing,
                NO_PACKAGE,
                no,
                ptr::null(),
                0,
                // Including dependencies.
                yes,
                no_event,
                ptr::null(),
                no_data
            )
        } else {
            call!(
                self.module,
                c"DismDisableFeature" as DisableFeature,
                self.session,
                text.as_ptr(),
                nothing,
                // Keep the files, so that the feature can be enabled again without a
                // source.
                no,
                no_event,
                ptr::null(),
                no_data
            )
        };
        let verb = if present { "enable" } else { "disable" };
        let code =
            done.map_err(|code| com::failure(format!("{verb} the feature `{name}`"), code))?;
        Ok(code.cast_unsigned() == ERROR_SUCCESS_REBOOT_REQUIRED)
    }
}

impl Drop for Dism {
    fn drop(&mut self) {
        let _ = call!(
            self.module,
            c"DismCloseSession" as CloseSession,
            self.session
        );
        let _ = call!(self.module, c"DismShutdown" as Shutdown,);
    }
}

/// `DismPackageFeatureState`.
fn facts(state: u32) -> WindowsFeatureFacts {
    match state {
        1 => WindowsFeatureFacts::OffAfterBoot,
        4 => WindowsFeatureFacts::On,
        5 => WindowsFeatureFacts::OnAfterBoot,
        // Absent, staged, removed, superseded or partially installed.
        _ => WindowsFeatureFacts::Off,
    }
}
