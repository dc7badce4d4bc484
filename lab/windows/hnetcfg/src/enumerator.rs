//! `IEnumVARIANT`: one rule after the other.

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::vec::IntoIter;

use windows_sys::Win32::Foundation::{E_POINTER, S_FALSE, S_OK};
use windows_sys::Win32::System::Variant::{VARIANT, VT_DISPATCH};
use windows_sys::core::{GUID, HRESULT};

use crate::object::{Kind, Object, Table, add, missing, query, release};
use crate::rule::Rule;

pub struct Each(Mutex<IntoIter<Rule>>);

impl Each {
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(Mutex::new(rules.into_iter()))
    }
}

impl Kind for Each {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x00020404_0000_0000_c000_000000000046)];

    fn table() -> *const c_void {
        static TABLE: Table<7> = Table([
            query::<Each> as *const c_void,
            add::<Each> as *const c_void,
            release::<Each> as *const c_void,
            next as *const c_void,
            missing as *const c_void,
            missing as *const c_void,
            missing as *const c_void,
        ]);
        (&raw const TABLE).cast()
    }
}

unsafe extern "system" fn next(
    this: *mut c_void,
    wanted: u32,
    to: *mut VARIANT,
    count: *mut u32,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: an object in use; room for as many values as are wanted.
    unsafe {
        let mut rules = Object::<Each>::of(this)
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut given = 0;
        while given < wanted
            && let Some(rule) = rules.next()
        {
            let mut value = VARIANT::default();
            value.Anonymous.Anonymous.vt = VT_DISPATCH;
            value.Anonymous.Anonymous.Anonymous.pdispVal = Object::give(rule);
            to.add(given as usize).write(value);
            given += 1;
        }
        if !count.is_null() {
            *count = given;
        }
        if given == wanted { S_OK } else { S_FALSE }
    }
}
