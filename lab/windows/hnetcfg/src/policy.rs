//! `INetFwPolicy2`: the way to the rules, and nothing else.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{E_POINTER, S_OK};
use windows_sys::core::{GUID, HRESULT};

use crate::object::{DISPATCH, Kind, Object, Table, add, missing, query, release};
use crate::rules::Rules;

pub struct Policy;

impl Kind for Policy {
    const INTERFACES: &'static [GUID] = &[
        DISPATCH,
        GUID::from_u128(0x98325047_c671_4174_8d81_defcd3f03186),
    ];

    fn table() -> *const c_void {
        static TABLE: Table<29> = {
            let mut table = [missing as *const c_void; 29];
            table[0] = query::<Policy> as *const c_void;
            table[1] = add::<Policy> as *const c_void;
            table[2] = release::<Policy> as *const c_void;
            table[18] = rules as *const c_void;
            Table(table)
        };
        (&raw const TABLE).cast()
    }
}

unsafe extern "system" fn rules(_this: *mut c_void, to: *mut *mut c_void) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and writable as the C API says.
    unsafe { *to = Object::give(Rules) };
    S_OK
}
