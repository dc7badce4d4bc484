//! `DllGetClassObject` and the class factories that it returns.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{CLASS_E_CLASSNOTAVAILABLE, E_POINTER, S_FALSE, S_OK};
use windows_sys::core::{BOOL, GUID, HRESULT};

use crate::object::{
    Class, Object, Vtable, add_ref, create_as, matches_guid, query_interface, release,
};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::wmi::Locator;

/// `NetFwPolicy2`.
const POLICY: GUID = GUID::from_u128(0xe2b3c97f_6ae1_41ac_817a_f6f92166d7dd);
/// `NetFwRule`.
const RULE: GUID = GUID::from_u128(0x2c5bc43e_3369_4c33_ab0c_be9469677af4);

/// `WbemLocator`.
const LOCATOR: GUID = GUID::from_u128(0x4590f811_1d3a_11d0_891f_00aa004b2e24);

enum Factory {
    Policy,
    Rule,
    Locator,
}

impl Class for Factory {
    /// `IClassFactory`.
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x00000001_0000_0000_c000_000000000046)];

    fn vtable() -> *const c_void {
        static VTABLE: Vtable<5> = Vtable([
            query_interface::<Factory> as *const c_void,
            add_ref::<Factory> as *const c_void,
            release::<Factory> as *const c_void,
            create_instance as *const c_void,
            lock_server as *const c_void,
        ]);
        (&raw const VTABLE).cast()
    }
}

unsafe extern "system" fn create_instance(
    this: *mut c_void,
    _outer: *mut c_void,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    lab_call_counter::record();
    // SAFETY: the pointers are valid as the C API requires.
    unsafe {
        match Object::<Factory>::from_raw(this) {
            Factory::Policy => create_as(Policy, interface, to),
            Factory::Rule => create_as(Rule::default(), interface, to),
            Factory::Locator => create_as(Locator, interface, to),
        }
    }
}

extern "system" fn lock_server(_this: *mut c_void, _lock: BOOL) -> HRESULT {
    S_OK
}

/// # Safety
/// The pointers are valid as the C API requires.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(
    class: *const GUID,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    if class.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    unsafe {
        let is = matches_guid(&*class);
        if is(&POLICY) {
            create_as(Factory::Policy, interface, to)
        } else if is(&RULE) {
            create_as(Factory::Rule, interface, to)
        } else if is(&LOCATOR) {
            create_as(Factory::Locator, interface, to)
        } else {
            CLASS_E_CLASSNOTAVAILABLE
        }
    }
}

#[unsafe(no_mangle)]
pub extern "system" fn DllCanUnloadNow() -> HRESULT {
    S_FALSE
}
