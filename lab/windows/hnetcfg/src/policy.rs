//! `INetFwPolicy2`, of which only the rules are implemented.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{E_POINTER, S_OK};
use windows_sys::core::{GUID, HRESULT};

use crate::object::{
    Class, DISPATCH, Object, Vtable, add_ref, not_implemented, query_interface, release,
};
use crate::rules::Rules;

pub struct Policy;

impl Class for Policy {
    const INTERFACES: &'static [GUID] = &[
        DISPATCH,
        GUID::from_u128(0x98325047_c671_4174_8d81_defcd3f03186),
    ];

    fn vtable() -> *const c_void {
        static VTABLE: Vtable<29> = {
            let mut vtable = [not_implemented as *const c_void; 29];
            vtable[0] = query_interface::<Policy> as *const c_void;
            vtable[1] = add_ref::<Policy> as *const c_void;
            vtable[2] = release::<Policy> as *const c_void;
            vtable[18] = rules as *const c_void;
            Vtable(vtable)
        };
        (&raw const VTABLE).cast()
    }
}

unsafe extern "system" fn rules(_this: *mut c_void, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and valid for writes as the C API requires.
    unsafe { *to = Object::create(Rules) };
    S_OK
}
