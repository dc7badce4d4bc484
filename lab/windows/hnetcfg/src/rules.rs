//! `INetFwRules`: the firewall rules of the host.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{
    E_INVALIDARG, E_POINTER, ERROR_FILE_NOT_FOUND, S_OK, SysStringLen,
};
use windows_sys::core::{BSTR, GUID, HRESULT};

use crate::enumerator::RuleEnumerator;
use crate::object::{
    Class, DISPATCH, Object, Vtable, add_ref, not_implemented, query_interface, release,
};
use crate::rule::Rule;
use crate::store;

pub struct Rules;

impl Class for Rules {
    const INTERFACES: &'static [GUID] = &[
        DISPATCH,
        GUID::from_u128(0x9c4c6277_5027_441e_afae_ca1f542da009),
    ];

    fn vtable() -> *const c_void {
        static VTABLE: Vtable<12> = Vtable([
            query_interface::<Rules> as *const c_void,
            add_ref::<Rules> as *const c_void,
            release::<Rules> as *const c_void,
            not_implemented as *const c_void,
            not_implemented as *const c_void,
            not_implemented as *const c_void,
            not_implemented as *const c_void,
            count as *const c_void,
            add as *const c_void,
            remove as *const c_void,
            item as *const c_void,
            enumerate as *const c_void,
        ]);
        (&raw const VTABLE).cast()
    }
}

const NOT_FOUND: HRESULT = (0x8007_0000 | ERROR_FILE_NOT_FOUND).cast_signed();

/// The caller still owns `text`.
///
/// # Safety
/// `text` is null or a valid BSTR.
pub unsafe fn read_text(text: BSTR) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let units = unsafe { core::slice::from_raw_parts(text, SysStringLen(text) as usize) };
    String::from_utf16_lossy(units)
}

/// The first rule with this name; case-insensitive.
fn find(name: &str) -> Option<(String, Rule)> {
    let mut all = store::all().into_iter();
    all.find(|(_, rule)| rule.name().to_lowercase() == name.to_lowercase())
}

unsafe extern "system" fn count(_this: *mut c_void, to: *mut i32) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and valid for writes as the C API requires.
    unsafe { *to = i32::try_from(store::all().len()).unwrap_or(i32::MAX) };
    S_OK
}

/// Names need not be unique.
unsafe extern "system" fn add(_this: *mut c_void, rule: *mut c_void) -> HRESULT {
    if rule.is_null() {
        return E_POINTER;
    }
    // SAFETY: callers can only get rules from this DLL.
    let rule = unsafe { Object::<Rule>::from_raw(rule) };
    if rule.name().is_empty() {
        return E_INVALIDARG;
    }
    store::put(&store::new_id(), rule)
}

/// Removes one rule with this name; not an error if there is none.
unsafe extern "system" fn remove(_this: *mut c_void, name: BSTR) -> HRESULT {
    // SAFETY: the pointers are valid as the C API requires.
    match find(&unsafe { read_text(name) }) {
        Some((id, _)) => store::remove(&id),
        None => S_OK,
    }
}

unsafe extern "system" fn item(_this: *mut c_void, name: BSTR, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    unsafe {
        *to = core::ptr::null_mut();
        match find(&read_text(name)) {
            Some((_, rule)) => *to = Object::create(rule),
            None => return NOT_FOUND,
        }
    }
    S_OK
}

unsafe extern "system" fn enumerate(_this: *mut c_void, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    let rules = store::all().into_iter().map(|(_, rule)| rule).collect();
    // SAFETY: not null, and valid for writes as the C API requires.
    unsafe { *to = Object::create(RuleEnumerator::new(rules)) };
    S_OK
}
