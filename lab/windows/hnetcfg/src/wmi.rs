//! The WMI interfaces through which two network settings are read and changed.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{E_INVALIDARG, E_POINTER, S_FALSE, S_OK};
use windows_sys::core::{BSTR, GUID, HRESULT};

use crate::object::{
    Class, Object, Vtable, add_ref, matches_guid, not_implemented, query_interface, release,
};
use crate::rules::read_text;
use crate::settings::Settings;

const INVALID_NAMESPACE: HRESULT = 0x8004_100E_u32.cast_signed();
const INVALID_CLASS: HRESULT = 0x8004_1010_u32.cast_signed();

/// A vtable with the `IUnknown` functions and those that are listed by index.
macro_rules! vtable {
    ($class:ident, $size:literal: $($index:literal => $function:expr),*) => {{
        static VTABLE: Vtable<$size> = {
            let mut vtable = [not_implemented as *const c_void; $size];
            vtable[0] = query_interface::<$class> as *const c_void;
            vtable[1] = add_ref::<$class> as *const c_void;
            vtable[2] = release::<$class> as *const c_void;
            $(vtable[$index] = $function as *const c_void;)*
            Vtable(vtable)
        };
        (&raw const VTABLE).cast()
    }};
}
pub(crate) use vtable;

/// `IWbemLocator`.
pub struct Locator;

impl Class for Locator {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0xdc12a687_737f_11cf_884d_00aa004b2e24)];

    fn vtable() -> *const c_void {
        vtable!(Locator, 4: 3 => connect)
    }
}

unsafe extern "system" fn connect(
    _this: *mut c_void,
    namespace: BSTR,
    _user: BSTR,
    _password: BSTR,
    _locale: BSTR,
    _flags: i32,
    _authority: BSTR,
    _context: *mut c_void,
    to: *mut *mut c_void,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    unsafe {
        if !read_text(namespace).eq_ignore_ascii_case(r"ROOT\StandardCimv2") {
            return INVALID_NAMESPACE;
        }
        *to = Object::create(Services);
    }
    S_OK
}

/// Callers set a proxy blanket for impersonation. This is an in-process server,
/// so it has no effect.
struct Security;

impl Class for Security {
    const INTERFACES: &'static [GUID] = &[CLIENT_SECURITY];

    fn vtable() -> *const c_void {
        vtable!(Security, 6: 4 => set_blanket)
    }
}

/// `IClientSecurity`.
const CLIENT_SECURITY: GUID = GUID::from_u128(0x0000013d_0000_0000_c000_000000000046);

extern "system" fn set_blanket() -> HRESULT {
    S_OK
}

fn security(interface: &GUID) -> Option<*mut c_void> {
    matches_guid(interface)(&CLIENT_SECURITY).then(|| Object::create(Security))
}

/// `IWbemServices`.
struct Services;

impl Class for Services {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x9556dc99_828c_11cf_a37e_00aa003240c7)];

    fn vtable() -> *const c_void {
        vtable!(Services, 26: 14 => put_instance, 20 => exec_query)
    }

    fn delegate(interface: &GUID) -> Option<*mut c_void> {
        security(interface)
    }
}

unsafe extern "system" fn put_instance(
    _this: *mut c_void,
    instance: *mut c_void,
    _flags: i32,
    _context: *mut c_void,
    _result: *mut *mut c_void,
) -> HRESULT {
    if instance.is_null() {
        return E_POINTER;
    }
    // SAFETY: callers can only get these objects from this DLL.
    unsafe { Object::<Settings>::from_raw(instance) }.save()
}

unsafe extern "system" fn exec_query(
    _this: *mut c_void,
    _language: BSTR,
    text: BSTR,
    _flags: i32,
    _context: *mut c_void,
    to: *mut *mut c_void,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: the pointers are valid as the C API requires.
    let text = unsafe { read_text(text) };
    let Some(settings) = text.split_whitespace().find_map(Settings::of_class) else {
        return INVALID_CLASS;
    };
    // SAFETY: not null, and valid for writes as the C API requires.
    unsafe { *to = Object::create(QueryResult(settings)) };
    S_OK
}

/// `IEnumWbemClassObject` with the single instance of a class.
struct QueryResult(Settings);

impl Class for QueryResult {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x027947e1_d731_11ce_a357_000000000001)];

    fn vtable() -> *const c_void {
        vtable!(QueryResult, 8: 4 => next)
    }

    fn delegate(interface: &GUID) -> Option<*mut c_void> {
        security(interface)
    }
}

unsafe extern "system" fn next(
    this: *mut c_void,
    _timeout: i32,
    requested: u32,
    to: *mut *mut c_void,
    count: *mut u32,
) -> HRESULT {
    if to.is_null() || count.is_null() {
        return E_POINTER;
    }
    if requested == 0 {
        return E_INVALIDARG;
    }
    // SAFETY: a live object, and valid out pointers.
    unsafe {
        *to = Object::create(Object::<QueryResult>::from_raw(this).0.copy());
        *count = 1;
    }
    if requested == 1 { S_OK } else { S_FALSE }
}
