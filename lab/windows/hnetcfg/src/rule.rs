//! `INetFwRule3`: one rule.
//!
//! The object is a copy: changing it does not change the stored rule, neither
//! after adding it nor, unlike on Windows, after listing it.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windows_sys::Win32::Foundation::{
    E_INVALIDARG, E_POINTER, S_OK, SysAllocStringLen, VARIANT_BOOL, VARIANT_FALSE, VARIANT_TRUE,
};
use windows_sys::Win32::System::Variant::VARIANT;
use windows_sys::core::{BSTR, GUID, HRESULT};

use crate::object::{
    Class, DISPATCH, Object, Vtable, add_ref, not_implemented, query_interface, release,
};
use crate::rules::read_text;

/// The properties that differ from the defaults, by their name in the registry.
#[derive(Default)]
pub struct Rule(Mutex<BTreeMap<&'static str, String>>);

/// Name in the registry, vtable index of the getter (the setter follows), and
/// default value.
pub struct Property(pub &'static str, usize, &'static str);

const TEXTS: [Property; 16] = [
    Property("Name", 7, ""),
    Property("Desc", 9, ""),
    Property("App", 11, ""),
    Property("Svc", 13, ""),
    Property(LOCAL_PORTS, 17, ""),
    Property(REMOTE_PORTS, 19, ""),
    Property("LA4", 21, "*"),
    Property("RA4", 23, "*"),
    Property("ICMP4", 25, ""),
    Property("IFType", 31, "All"),
    Property("EmbedCtxt", 35, ""),
    Property("AppPkgId", 45, ""),
    Property("LUOwn", 47, ""),
    Property("LUAuth", 49, ""),
    Property("RUAuth", 51, ""),
    Property("RMauth", 53, ""),
];

const NUMBERS: [Property; 6] = [
    Property(PROTOCOL, 15, "256"),
    Property("Dir", 27, "1"),
    Property("Profile", 37, "2147483647"),
    Property("Action", 41, "1"),
    Property("Edge", 43, "0"),
    Property("Security", 55, "0"),
];

const FLAGS: [Property; 1] = [Property("Active", 33, "0")];

const PROTOCOL: &str = "Protocol";
const LOCAL_PORTS: &str = "LPort";
const REMOTE_PORTS: &str = "RPort";
const INTERFACES_INDEX: usize = 29;
const VTABLE_SIZE: usize = 57;

impl Class for Rule {
    /// `INetFwRule`, `INetFwRule2`, `INetFwRule3`.
    const INTERFACES: &'static [GUID] = &[
        DISPATCH,
        GUID::from_u128(0xaf230d27_baba_4e42_aced_f524f22cfce2),
        GUID::from_u128(0x9c27c8da_189b_4dde_89f7_8b39a316782c),
        GUID::from_u128(0xb21563ff_d696_4222_ab46_4e89b73ab34a),
    ];

    fn vtable() -> *const c_void {
        static VTABLE: Vtable<VTABLE_SIZE> = vtable();
        (&raw const VTABLE).cast()
    }
}

/// Sets the getter and setter of each property of a list, by index.
macro_rules! set_accessors {
    ($vtable:ident, $list:ident, $get:ident, $put:ident: $($index:literal)*) => {
        $(
            $vtable[$list[$index].1] = $get::<$index> as *const c_void;
            $vtable[$list[$index].1 + 1] = $put::<$index> as *const c_void;
        )*
    };
}

const fn vtable() -> Vtable<VTABLE_SIZE> {
    let mut vtable = [not_implemented as *const c_void; VTABLE_SIZE];
    vtable[0] = query_interface::<Rule> as *const c_void;
    vtable[1] = add_ref::<Rule> as *const c_void;
    vtable[2] = release::<Rule> as *const c_void;
    vtable[INTERFACES_INDEX] = interfaces as *const c_void;
    set_accessors!(vtable, TEXTS, text, put_text: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    set_accessors!(vtable, NUMBERS, number, put_number: 0 1 2 3 4 5);
    set_accessors!(vtable, FLAGS, flag, put_flag: 0);
    Vtable(vtable)
}

/// In the order in which the registry has them.
pub fn properties() -> impl Iterator<Item = &'static Property> {
    FLAGS.iter().chain(&NUMBERS).chain(&TEXTS)
}

impl Rule {
    pub fn new(values: BTreeMap<&'static str, String>) -> Self {
        Self(Mutex::new(values))
    }

    pub fn values(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn name(&self) -> String {
        self.get(&TEXTS[0])
    }

    fn get(&self, property: &Property) -> String {
        let values = self.values();
        let value = values.get(property.0).map(String::as_str);
        value.unwrap_or(property.2).to_owned()
    }

    /// The registry separates properties with `|`; only TCP and UDP have ports.
    fn put(&self, property: &Property, value: String) -> HRESULT {
        let has_ports = || matches!(self.get(&NUMBERS[0]).as_str(), "6" | "17");
        let is_ports = [LOCAL_PORTS, REMOTE_PORTS].contains(&property.0);
        if value.contains('|') || is_ports && !has_ports() {
            return E_INVALIDARG;
        }
        if value == property.2 {
            self.values().remove(property.0);
        } else {
            self.values().insert(property.0, value);
        }
        S_OK
    }
}

unsafe extern "system" fn text<const INDEX: usize>(this: *mut c_void, to: *mut BSTR) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, and a valid out pointer for the text.
    unsafe {
        let found = Object::<Rule>::from_raw(this).get(&TEXTS[INDEX]);
        let units: Vec<u16> = found.encode_utf16().collect();
        *to = match u32::try_from(units.len()) {
            Ok(length) if length > 0 => SysAllocStringLen(units.as_ptr(), length),
            _ => core::ptr::null(),
        };
    }
    S_OK
}

unsafe extern "system" fn put_text<const INDEX: usize>(this: *mut c_void, text: BSTR) -> HRESULT {
    // SAFETY: a live object, and a valid BSTR.
    unsafe { Object::<Rule>::from_raw(this).put(&TEXTS[INDEX], read_text(text)) }
}

unsafe extern "system" fn number<const INDEX: usize>(this: *mut c_void, to: *mut i32) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, and a valid out pointer for the number.
    unsafe {
        let found = Object::<Rule>::from_raw(this).get(&NUMBERS[INDEX]);
        *to = found.parse().unwrap_or_default();
    }
    S_OK
}

unsafe extern "system" fn put_number<const INDEX: usize>(
    this: *mut c_void,
    number: i32,
) -> HRESULT {
    // SAFETY: a live object.
    unsafe { Object::<Rule>::from_raw(this).put(&NUMBERS[INDEX], number.to_string()) }
}

unsafe extern "system" fn flag<const INDEX: usize>(
    this: *mut c_void,
    to: *mut VARIANT_BOOL,
) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: a live object, and a valid out pointer for the flag.
    unsafe {
        let on = Object::<Rule>::from_raw(this).get(&FLAGS[INDEX]) == "1";
        *to = if on { VARIANT_TRUE } else { VARIANT_FALSE };
    }
    S_OK
}

unsafe extern "system" fn put_flag<const INDEX: usize>(
    this: *mut c_void,
    flag: VARIANT_BOOL,
) -> HRESULT {
    let on = i32::from(flag != VARIANT_FALSE).to_string();
    // SAFETY: a live object.
    unsafe { Object::<Rule>::from_raw(this).put(&FLAGS[INDEX], on) }
}

/// Rules are not bound to interfaces.
unsafe extern "system" fn interfaces(_this: *mut c_void, to: *mut VARIANT) -> HRESULT {
    if to.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and valid for writes.
    unsafe { to.write(VARIANT::default()) };
    S_OK
}
