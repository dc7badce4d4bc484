//! `INetFwRules`: the rules of the host.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{
    E_INVALIDARG, E_POINTER, ERROR_FILE_NOT_FOUND, S_OK, SysStringLen,
};
use windows_sys::core::{BSTR, GUID, HRESULT};

use crate::each::Each;
use crate::object::{DISPATCH, Kind, Object, Table, add as add_user, missing, query, release};
use crate::rule::Rule;
use crate::store;

pub struct Rules;

impl Kind for Rules {
    const INTERFACES: &'static [GUID] = &[
        DISPATCH,
        GUID::from_u128(0x9c4c6277_5027_441e_afae_ca1f542da009),
    ];

    fn table() -> *const c_void {
        static TABLE: Table<12> = Table([
            query::<Rules> as *const c_void,
            add_user::<Rules> as *const c_void,
            release::<Rules> as *const c_void,
            missing as *const c_void,
            missing as *const c_void,
            missing as *const c_void,
            missing as *const c_void,
            count as *const c_void,
            add as *const c_void,
            remove as *const c_void,
            item as *const c_void,
            each as *const c_void,
        ]);
        (&raw const TABLE).cast()
    }
}

const NOT_FOUND: HRESULT = (0x8007_0000 | ERROR_FILE_NOT_FOUND).cast_signed();

/// A text that somebody else frees.
///
/// # Safety
/// `text` is null or a text of Windows'.
pub unsafe fn read(text: BSTR) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    let units = unsafe { core::slice::from_raw_parts(text, SysStringLen(text) as usize) };
    String::from_utf16_lossy(units)
}

/// The first rule of a name, without regard to case.
fn first(name: &str) -> Option<(String, Rule)> {
    let mut all = store::all().into_iter();
    all.find(|(_, rule)| rule.name().to_lowercase() == name.to_lowercase())
}

unsafe extern "system" fn count(_this: *mut c_void, to: *mut i32) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and writable as the C API says.
    unsafe { *to = i32::try_from(store::all().len()).unwrap_or(i32::MAX) };
    S_OK
}

/// A name may belong to several rules.
unsafe extern "system" fn add(_this: *mut c_void, rule: *mut c_void) -> HRESULT {
    if rule.is_null() {
        return E_POINTER;
    }
    // SAFETY: the rules that can be given are all made here.
    let rule = unsafe { Object::<Rule>::of(rule) };
    if rule.name().is_empty() {
        return E_INVALIDARG;
    }
    store::put(&store::new_id(), rule)
}

/// One rule of that name goes; none is fine.
unsafe extern "system" fn remove(_this: *mut c_void, name: BSTR) -> HRESULT {
    // SAFETY: as the C API says.
    match first(&unsafe { read(name) }) {
        Some((id, _)) => store::remove(&id),
        None => S_OK,
    }
}

unsafe extern "system" fn item(_this: *mut c_void, name: BSTR, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: as the C API says.
    unsafe {
        *to = core::ptr::null_mut();
        match first(&read(name)) {
            Some((_, rule)) => *to = Object::give(rule),
            None => return NOT_FOUND,
        }
    }
    S_OK
}

unsafe extern "system" fn each(_this: *mut c_void, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    let rules = store::all().into_iter().map(|(_, rule)| rule).collect();
    // SAFETY: not null, and writable as the C API says.
    unsafe { *to = Object::give(Each::new(rules)) };
    S_OK
}
