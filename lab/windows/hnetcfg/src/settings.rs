//! `IWbemClassObject`: the dynamic ports of a protocol.

use core::ffi::c_void;
use std::sync::atomic::{AtomicU16, Ordering};

use windows_sys::Win32::Foundation::{E_ACCESSDENIED, E_INVALIDARG, E_POINTER, S_OK};
use windows_sys::Win32::System::Variant::{VARIANT, VT_I4};
use windows_sys::core::{GUID, HRESULT, PCWSTR};
use winreg::RegKey;
use winreg::enums::HKEY_LOCAL_MACHINE;

use crate::object::{Kind, Object, Table, add, missing, query, release};
use crate::wmi::table;

const ABOVE: &str = r"SOFTWARE\casement-lab";
const KEY: &str = r"SOFTWARE\casement-lab\dynamic-ports";
/// What Windows gives out unless told otherwise.
const USUAL_FIRST: u16 = 49152;
const USUAL_COUNT: u16 = 16384;
const NOT_FOUND: HRESULT = 0x8004_1002_u32.cast_signed();

/// The range of a protocol, and what a caller has put into it.
pub struct Settings {
    class: &'static str,
    first: AtomicU16,
    count: AtomicU16,
}

impl Kind for Settings {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0xdc12a681_737f_11cf_884d_00aa004b2e24)];

    fn table() -> *const c_void {
        table!(Settings, 27: 4 => get, 5 => put)
    }
}

impl Settings {
    /// The settings of a class, as the registry has them; none of one that is
    /// not known.
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
            first: read("First").unwrap_or(USUAL_FIRST).into(),
            count: read("Count").unwrap_or(USUAL_COUNT).into(),
        })
    }

    pub fn again(&self) -> Self {
        Self {
            class: self.class,
            first: self.first.load(Ordering::SeqCst).into(),
            count: self.count.load(Ordering::SeqCst).into(),
        }
    }

    /// Windows keeps the ports below 1025 for those who ask for them, and wants
    /// 255 at least.
    pub fn save(&self) -> HRESULT {
        let (first, count) = (
            u32::from(self.first.load(Ordering::SeqCst)),
            u32::from(self.count.load(Ordering::SeqCst)),
        );
        if first < 1025 || count < 255 || first + count > 0x1_0000 {
            return E_INVALIDARG;
        }
        let root = RegKey::predef(HKEY_LOCAL_MACHINE);
        if (first, count) == (USUAL_FIRST.into(), USUAL_COUNT.into()) {
            // As a Windows that nobody has set: a host that was is compared with
            // what it was before. A key with others below it stays.
            for key in [format!(r"{KEY}\{}", self.class), KEY.into(), ABOVE.into()] {
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

    /// The property of a name.
    ///
    /// # Safety
    /// `name` is null or terminated.
    unsafe fn property(&self, name: PCWSTR) -> Option<&AtomicU16> {
        if name.is_null() {
            return None;
        }
        // SAFETY: the caller vouches for it.
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
    // SAFETY: an object in use, terminated text, and a place.
    unsafe {
        let Some(property) = Object::<Settings>::of(this).property(name) else {
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
    // SAFETY: an object in use, terminated text, and a value that says its type.
    unsafe {
        let Some(property) = Object::<Settings>::of(this).property(name) else {
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
