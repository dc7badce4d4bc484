//! Windows Management Instrumentation: the way to two settings of the network.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{E_INVALIDARG, E_POINTER, S_FALSE, S_OK};
use windows_sys::core::{BSTR, GUID, HRESULT};

use crate::object::{Kind, Object, Table, add, missing, query, release, same_as};
use crate::rules::read;
use crate::settings::Settings;

const INVALID_NAMESPACE: HRESULT = 0x8004_100E_u32.cast_signed();
const INVALID_CLASS: HRESULT = 0x8004_1010_u32.cast_signed();

/// A table that begins with what every object has, and else has one function.
macro_rules! table {
    ($kind:ident, $places:literal: $($place:literal => $function:expr),*) => {{
        static TABLE: Table<$places> = {
            let mut table = [missing as *const c_void; $places];
            table[0] = query::<$kind> as *const c_void;
            table[1] = add::<$kind> as *const c_void;
            table[2] = release::<$kind> as *const c_void;
            $(table[$place] = $function as *const c_void;)*
            Table(table)
        };
        (&raw const TABLE).cast()
    }};
}
pub(crate) use table;

/// `IWbemLocator`.
pub struct Locator;

impl Kind for Locator {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0xdc12a687_737f_11cf_884d_00aa004b2e24)];

    fn table() -> *const c_void {
        table!(Locator, 4: 3 => connect)
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
    // SAFETY: as the C API says.
    unsafe {
        if !read(namespace).eq_ignore_ascii_case(r"ROOT\StandardCimv2") {
            return INVALID_NAMESPACE;
        }
        *to = Object::give(Services);
    }
    S_OK
}

/// What a caller sets who wants to be served with its own rights. Objects of
/// another process have it; here, there is nothing to set.
struct Security;

impl Kind for Security {
    const INTERFACES: &'static [GUID] = &[CLIENT_SECURITY];

    fn table() -> *const c_void {
        table!(Security, 6: 4 => set_blanket)
    }
}

/// `IClientSecurity`.
const CLIENT_SECURITY: GUID = GUID::from_u128(0x0000013d_0000_0000_c000_000000000046);

extern "system" fn set_blanket() -> HRESULT {
    S_OK
}

fn security(interface: &GUID) -> Option<*mut c_void> {
    same_as(interface)(&CLIENT_SECURITY).then(|| Object::give(Security))
}

/// `IWbemServices`.
struct Services;

impl Kind for Services {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x9556dc99_828c_11cf_a37e_00aa003240c7)];

    fn table() -> *const c_void {
        table!(Services, 26: 14 => put_instance, 20 => exec_query)
    }

    fn other(interface: &GUID) -> Option<*mut c_void> {
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
    // SAFETY: the objects that can be given are all made here.
    unsafe { Object::<Settings>::of(instance) }.save()
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
    // SAFETY: as the C API says.
    let text = unsafe { read(text) };
    let Some(settings) = text.split_whitespace().find_map(Settings::of_class) else {
        return INVALID_CLASS;
    };
    // SAFETY: not null, and writable as the C API says.
    unsafe { *to = Object::give(Found(settings)) };
    S_OK
}

/// `IEnumWbemClassObject`, with the one object that each class has.
struct Found(Settings);

impl Kind for Found {
    const INTERFACES: &'static [GUID] = &[GUID::from_u128(0x027947e1_d731_11ce_a357_000000000001)];

    fn table() -> *const c_void {
        table!(Found, 8: 4 => next)
    }

    fn other(interface: &GUID) -> Option<*mut c_void> {
        security(interface)
    }
}

unsafe extern "system" fn next(
    this: *mut c_void,
    _timeout: i32,
    wanted: u32,
    to: *mut *mut c_void,
    count: *mut u32,
) -> HRESULT {
    if to.is_null() || count.is_null() {
        return E_POINTER;
    }
    if wanted == 0 {
        return E_INVALIDARG;
    }
    // SAFETY: an object in use, and places as the C API says.
    unsafe {
        *to = Object::give(Object::<Found>::of(this).0.again());
        *count = 1;
    }
    if wanted == 1 { S_OK } else { S_FALSE }
}
