//! Dynamic port ranges, through Windows Management Instrumentation (WMI): the IP
//! helper has no function for them.
#![allow(unsafe_code, reason = "objects of the Windows API")]

use std::ffi::c_void;
use std::ptr;

use casement_resource::{DynamicPorts, DynamicPortsFacts, Failure, Protocol};
use windows_sys::Win32::Foundation::E_UNEXPECTED;
use windows_sys::Win32::System::Com::{
    CoSetProxyBlanket, EOAC_NONE, RPC_C_AUTHN_LEVEL_CALL, RPC_C_IMP_LEVEL_IMPERSONATE,
};
use windows_sys::Win32::System::Variant::VARIANT;
use windows_sys::core::{BSTR, GUID, PCWSTR};

use super::com::{self, Apartment, BStr, ComResult, Object, Variant, call, check};
use super::wide::wide;

/// `WbemLocator`, and `IWbemLocator`.
const LOCATOR_CLASS: GUID = GUID::from_u128(0x4590f811_1d3a_11d0_891f_00aa004b2e24);
const LOCATOR: GUID = GUID::from_u128(0xdc12a687_737f_11cf_884d_00aa004b2e24);
const NAMESPACE: &str = r"ROOT\StandardCimv2";

/// Vtable indexes of `IWbemLocator`, `IWbemServices`, `IEnumWbemClassObject` and
/// `IWbemClassObject`.
const CONNECT: usize = 3;
const PUT_INSTANCE: usize = 14;
const QUERY: usize = 20;
const NEXT: usize = 4;
const GET: usize = 4;
const PUT: usize = 5;

const FORWARD_ONLY: i32 = 0x20;
const UPDATE_ONLY: i32 = 1;
const INFINITE: i32 = -1;

const FIRST: &str = "DynamicPortRangeStartPort";
const COUNT: &str = "DynamicPortRangeNumberOfPorts";

pub fn dynamic_ports(protocol: Protocol) -> Result<DynamicPortsFacts, Failure> {
    let read = || {
        let _apartment = Apartment::enter()?;
        let settings = settings(&connect()?, protocol)?;
        let number = |name: &str| {
            let number = get(&settings, name)?.as_number();
            number
                .and_then(|number| u16::try_from(number).ok())
                .ok_or(E_UNEXPECTED)
        };
        Ok(DynamicPortsFacts {
            first: number(FIRST)?,
            count: number(COUNT)?,
        })
    };
    read().map_err(|code| com::failure(format_args!("read the dynamic {protocol} ports"), code))
}

pub fn set_dynamic_ports(ports: &DynamicPorts) -> Result<(), Failure> {
    let write = || {
        let _apartment = Apartment::enter()?;
        let services = connect()?;
        let settings = settings(&services, ports.protocol)?;
        put(&settings, FIRST, ports.first)?;
        put(&settings, COUNT, ports.count)?;
        let (none, no_result) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: an object, flags, no context and no result pointer.
        unsafe {
            call!(
                services,
                PUT_INSTANCE,
                settings.as_ptr() => *mut c_void,
                UPDATE_ONLY => i32,
                none => *mut c_void,
                no_result => *mut *mut c_void,
            )
        }
    };
    write().map_err(|code| {
        let protocol = ports.protocol;
        com::failure(format_args!("set the dynamic {protocol} ports"), code)
    })
}

fn connect() -> ComResult<Object> {
    let locator = Object::new(&LOCATOR_CLASS, &LOCATOR)?;
    let namespace = BStr::new(NAMESPACE);
    let (default, mut services) = (ptr::null(), ptr::null_mut());
    // SAFETY: the namespace, defaults for the rest, and a writable pointer.
    unsafe {
        call!(
            locator,
            CONNECT,
            namespace.0 => BSTR,
            default => BSTR,
            default => BSTR,
            default => BSTR,
            0 => i32,
            default => BSTR,
            ptr::null_mut() => *mut c_void,
            &mut services => *mut *mut c_void,
        )
    }?;
    let services = Object::from_raw(services)?;
    enable_impersonation(&services)?;
    Ok(services)
}

/// Lets the service act with the rights of the caller.
fn enable_impersonation(services: &Object) -> ComResult<()> {
    const AUTHN_WINNT: u32 = 10;
    const NO_AUTHORIZATION: u32 = 0;
    // SAFETY: an object; the names and the identity are the defaults.
    check(unsafe {
        CoSetProxyBlanket(
            services.as_ptr(),
            AUTHN_WINNT,
            NO_AUTHORIZATION,
            ptr::null(),
            RPC_C_AUTHN_LEVEL_CALL,
            RPC_C_IMP_LEVEL_IMPERSONATE,
            ptr::null(),
            EOAC_NONE.cast_unsigned(),
        )
    })
}

/// All TCP templates share one range; this one is writable on every Windows.
fn settings(services: &Object, protocol: Protocol) -> ComResult<Object> {
    let query = match protocol {
        Protocol::Tcp => "SELECT * FROM MSFT_NetTCPSetting WHERE SettingName='InternetCustom'",
        Protocol::Udp => "SELECT * FROM MSFT_NetUDPSetting",
    };
    let (language, query) = (BStr::new("WQL"), BStr::new(query));
    let mut found = ptr::null_mut();
    // SAFETY: two strings, flags, no context, and a writable pointer.
    unsafe {
        call!(
            services,
            QUERY,
            language.0 => BSTR,
            query.0 => BSTR,
            FORWARD_ONLY => i32,
            ptr::null_mut() => *mut c_void,
            &mut found => *mut *mut c_void,
        )
    }?;
    let found = Object::from_raw(found)?;
    enable_impersonation(&found)?;
    let (mut first, mut count) = (ptr::null_mut(), 0);
    // SAFETY: timeout, capacity, output and the returned count.
    unsafe {
        call!(
            found,
            NEXT,
            INFINITE => i32,
            1 => u32,
            &mut first => *mut *mut c_void,
            &mut count => *mut u32,
        )
    }?;
    Object::from_raw(first)
}

fn get(object: &Object, name: &str) -> ComResult<Variant> {
    let (name, mut value) = (wide(name), Variant::default());
    // SAFETY: NUL-terminated text and a writable pointer; type and origin are optional.
    unsafe {
        call!(
            object,
            GET,
            name.as_ptr() => PCWSTR,
            0 => i32,
            &mut value.0 => *mut VARIANT,
            ptr::null_mut() => *mut i32,
            ptr::null_mut() => *mut i32,
        )
    }?;
    Ok(value)
}

fn put(object: &Object, name: &str, number: u16) -> ComResult<()> {
    let (name, value) = (wide(name), Variant::number(i32::from(number)));
    // SAFETY: NUL-terminated text, and a value of the type of the property.
    unsafe {
        call!(
            object,
            PUT,
            name.as_ptr() => PCWSTR,
            0 => i32,
            &raw const value.0 => *const VARIANT,
            0 => i32,
        )
    }
}
