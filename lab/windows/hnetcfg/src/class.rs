//! The way in: `DllGetClassObject`, and the factories that it gives.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{CLASS_E_CLASSNOTAVAILABLE, E_POINTER, S_FALSE, S_OK};
use windows_sys::core::{BOOL, GUID, HRESULT};

use crate::object::{Kind, Object, Table, add, give, query, release, same_as};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::wmi::Locator;

/// `NetFwPolicy2`.
const POLICY: GUID = GUID::from_u128(0xe2b3c97f_6ae1_41ac_817a_f6f92166d7dd);
/// `NetFwRule`.
const RULE: GUID = GUID::from_u128(0x2c5bc43e_3369_4c33_ab0c_be9469677af4);

/// `WbemLocator`.
const LOCATOR: GUID = GUID::from_u128(0x4590f811_1d3a_11d0_891f_00aa004b2e24);

/// Makes objects of one class.
enum Factory {
    Policy,
    Rule,
    Locator,
}

impl Kind for Factory {
    /// `IClassFactory`.
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x00000001_0000_0000_c000_000000000046)];

    fn table() -> *const c_void {
        static TABLE: Table<5> = Table([
            query::<Factory> as *const c_void,
            add::<Factory> as *const c_void,
            release::<Factory> as *const c_void,
            make as *const c_void,
            lock as *const c_void,
        ]);
        (&raw const TABLE).cast()
    }
}

unsafe extern "system" fn make(
    this: *mut c_void,
    _outer: *mut c_void,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    lab_witness::called();
    // SAFETY: as the C API says.
    unsafe {
        match Object::<Factory>::of(this) {
            Factory::Policy => give(Policy, interface, to),
            Factory::Rule => give(Rule::default(), interface, to),
            Factory::Locator => give(Locator, interface, to),
        }
    }
}

extern "system" fn lock(_this: *mut c_void, _lock: BOOL) -> HRESULT {
    S_OK
}

/// # Safety
/// The pointers are as the C API says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(
    class: *const GUID,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    if class.is_null() {
        return E_POINTER;
    }
    // SAFETY: as the C API says.
    unsafe {
        let wanted = same_as(&*class);
        if wanted(&POLICY) {
            give(Factory::Policy, interface, to)
        } else if wanted(&RULE) {
            give(Factory::Rule, interface, to)
        } else if wanted(&LOCATOR) {
            give(Factory::Locator, interface, to)
        } else {
            CLASS_E_CLASSNOTAVAILABLE
        }
    }
}

#[unsafe(no_mangle)]
pub extern "system" fn DllCanUnloadNow() -> HRESULT {
    S_FALSE
}
