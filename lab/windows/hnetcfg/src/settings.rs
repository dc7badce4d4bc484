//! `IWbemClassObject`: the dynamic port range of a protocol.

use core::ffi::c_void;
use std::sync::atomic::{AtomicU16, Ordering};

use windows_sys::Win32::Foundation::{E_ACCESSDENIED, E_INVALIDARG, E_POINTER, S_OK};
use windows_sys::Win32::System::Variant::{VARIANT, VT_I4};
use windows_sys::core::{GUID, HRESULT, PCWSTR};
use winreg::RegKey;
use winreg::enums::HKEY_LOCAL_MACHINE;

use crate::object::{Class, Object, Vtable, add_ref, not_implemented, query_interface, release};
use crate::wmi::vtable;

const PARENT_KEY: &str = r"SOFTWARE\casement-lab";
const KEY: &str = r"SOFTWARE\casement-lab\dynamic-ports";
/// The default range of Windows.
const DEFAULT_FIRST: u16 = 49152;
const DEFAULT_COUNT: u16 = 16384;
const NOT_FOUND: HRESULT = 0x8004_1002_u32.cast_signed();

/// The range, including changes that are not saved yet.
pub struct Settings {
    class: &'static str,
    first: AtomicU16,
    count: AtomicU16,
}

impl Class for Settings {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0xdc12a681_737f_11cf_884d_00aa004b2e24)];

    fn vtable() -> *const c_void {
        vtable!(Settings, 27: 4 => get, 5 => put)
    }
}

impl Settings {
    /// Reads the registry; `None` for an unknown class.
    pub fn of_class(class: &str) -> Option<Self> {
        let class = ["MSFT_NetTCPSetting", "MSFT_NetUDPSetting"]
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(class))?;
        let key = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey(format!(r"{KEY}\{class}"));
        let read = |name: &str| {
            let number = key.as_ref().ok()?.get_value::<u32, _>(name).ok()?;
            u16::try_from(number).ok()
        };
        Some(Self {
            class,
            first: read("First").unwrap_or(DEFAULT_FIRST).into(),
            count: read("Count").unwrap_or(DEFAULT_COUNT).into(),
        })
    }

    pub fn copy(&self) -> Self {
        Self {
            class: self.class,
            first: self.first.load(Ordering::SeqCst).into(),
            count: self.count.load(Ordering::SeqCst).into(),
        }
    }

    /// Windows requires a first port of 1025 or higher, and at least 255 ports.
    pub fn save(&self) -> HRESULT {
        let (first, count) = (
            u32::from(self.first.load(Ordering::SeqCst)),
            u32::from(self.count.load(Ordering::SeqCst)),
        );
        if first < 1025 || count < 255 || first + count > 0x1_0000 {
            return E_INVALIDARG;
        }
        let root = RegKey::predef(HKEY_LOCAL_MACHINE);
        if (first, count) == (DEFAULT_FIRST.into(), DEFAULT_COUNT.into()) {
            // Like an unconfigured Windows, because tests compare a host with its
            // original state. Deleting a key that has subkeys fails.
            for key in [
                format!(r"{KEY}\{}", self.class),
                KEY.into(),
                PARENT_KEY.into(),
            ] {
                let _ = root.delete_subkey(key);
            }
            return S_OK;
        }
        let saved = root
            .create_subkey(format!(r"{KEY}\{}", self.class))
            .and_then(|(key, _)| {
                key.set_value("First", &first)?;
                key.set_value("Count", &count)
            });
        if saved.is_ok() { S_OK } else { E_ACCESSDENIED }
    }

    /// # Safety
    /// `name` is null or NUL-terminated.
    unsafe fn property(&self, name: PCWSTR) -> Option<&AtomicU16> {
        if name.is_null() {
            return None;
        }
        // SAFETY: guaranteed by the caller.
        let name = unsafe {
            let length = (0..).take_while(|&at| *name.add(at) != 0).count();
            String::from_utf16_lossy(core::slice::from_raw_parts(name, length))
        };
        match name.as_str() {
            "DynamicPortRangeStartPort" => Some(&self.first),
            "DynamicPortRangeNumberOfPorts" => Some(&self.count),
            _ => None,
        }
    }
}

unsafe extern "system" fn get(
    this: *mut c_void,
    name: PCWSTR,
    _flags: i32,
    to: *mut VARIANT,
    _kind: *mut i32,
    _origin: *mut i32,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, NUL-terminated text, and a valid out pointer.
    unsafe {
        let Some(property) = Object::<Settings>::from_raw(this).property(name) else {
            return NOT_FOUND;
        };
        let mut value = VARIANT::default();
        value.Anonymous.Anonymous.vt = VT_I4;
        value.Anonymous.Anonymous.Anonymous.lVal = property.load(Ordering::SeqCst).into();
        to.write(value);
    }
    S_OK
}

unsafe extern "system" fn put(
    this: *mut c_void,
    name: PCWSTR,
    _flags: i32,
    value: *const VARIANT,
    _kind: i32,
) -> HRESULT {
    if value.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, NUL-terminated text, and a valid VARIANT.
    unsafe {
        let Some(property) = Object::<Settings>::from_raw(this).property(name) else {
            return NOT_FOUND;
        };
        let value = &(*value).Anonymous.Anonymous;
        let number = (value.vt == VT_I4).then(|| u16::try_from(value.Anonymous.lVal).ok());
        let Some(number) = number.flatten() else {
            return E_INVALIDARG;
        };
        property.store(number, Ordering::SeqCst);
    }
    S_OK
}
