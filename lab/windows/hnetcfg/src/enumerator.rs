//! `IEnumVARIANT` over rules.

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::vec::IntoIter;

use windows_sys::Win32::Foundation::{E_POINTER, S_FALSE, S_OK};
use windows_sys::Win32::System::Variant::{VARIANT, VT_DISPATCH};
use windows_sys::core::{GUID, HRESULT};

use crate::object::{Class, Object, Vtable, add_ref, not_implemented, query_interface, release};
use crate::rule::Rule;

pub struct RuleEnumerator(Mutex<IntoIter<Rule>>);

impl RuleEnumerator {
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(Mutex::new(rules.into_iter()))
    }
}

impl Class for RuleEnumerator {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x00020404_0000_0000_c000_000000000046)];

    fn vtable() -> *const c_void {
        static VTABLE: Vtable<7> = Vtable([
            query_interface::<RuleEnumerator> as *const c_void,
            add_ref::<RuleEnumerator> as *const c_void,
            release::<RuleEnumerator> as *const c_void,
            next as *const c_void,
            not_implemented as *const c_void,
            not_implemented as *const c_void,
            not_implemented as *const c_void,
        ]);
        (&raw const VTABLE).cast()
    }
}

unsafe extern "system" fn next(
    this: *mut c_void,
    requested: u32,
    to: *mut VARIANT,
    count: *mut u32,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, and a buffer for the requested number of values.
    unsafe {
        let mut rules = Object::<RuleEnumerator>::from_raw(this)
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut returned = 0;
        while returned < requested
            && let Some(rule) = rules.next()
        {
            let mut value = VARIANT::default();
            value.Anonymous.Anonymous.vt = VT_DISPATCH;
            value.Anonymous.Anonymous.Anonymous.pdispVal = Object::create(rule);
            to.add(returned as usize).write(value);
            returned += 1;
        }
        if !count.is_null() {
            *count = returned;
        }
        if returned == requested { S_OK } else { S_FALSE }
    }
}
