//! The server side of Kerberos: accepts a ticket with the keys of a keytab, using the same
//! library and wrapper code as the client; pywinrm verifies it independently.
#![allow(unsafe_code, reason = "calls of a C library")]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::{from_ref, null, null_mut};

#[path = "../../src/winrm/kerberos/context.rs"]
#[allow(dead_code, reason = "only the client uses all of it")]
mod context;
#[path = "../../src/winrm/kerberos/gss.rs"]
#[allow(dead_code, reason = "only the client uses all of it")]
mod gss;
#[path = "../../src/winrm/kerberos/library.rs"]
mod library;

use context::Context;
use gss::{Credential, Name, Output, call};
use library::{Bindings, Buffer, Handle, Library, Oid, OidSet, library};

/// `GSS_C_ACCEPT`.
const ACCEPT: c_int = 2;
/// `GSS_C_CHANNEL_BOUND_FLAG`: client and server have the same channel binding.
const CHANNEL_BOUND: u32 = 0x800;

/// `gss_key_value_element_desc`.
#[repr(C)]
struct Setting {
    key: *const c_char,
    value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
struct Store {
    count: u32,
    elements: *const Setting,
}

type AcquireFrom = unsafe extern "C" fn(
    *mut u32,
    Handle,
    u32,
    *const OidSet,
    c_int,
    *const Store,
    *mut Handle,
    *mut Handle,
    *mut u32,
) -> u32;

type Accept = unsafe extern "C" fn(
    *mut u32,
    *mut Handle,
    Handle,
    *const Buffer,
    *const Bindings,
    *mut Handle,
    *mut *const Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
    *mut Handle,
) -> u32;

pub struct Accepted {
    pub context: Context,
    pub client: String,
    /// Proves the server's identity to the client.
    pub token: Vec<u8>,
}

/// Accepts a token, or fails with the token to respond with, which may be empty. With a
/// binding, only logins with the same binding are accepted.
pub fn accept(keytab: &Path, token: &[u8], binding: Option<&[u8]>) -> Result<Accepted, Vec<u8>> {
    let library = library().unwrap();
    // SAFETY: the library is loaded already.
    let more = unsafe { libloading::Library::new("libgssapi_krb5.so.2") }.unwrap();
    // SAFETY: the type is the one of the library's header.
    let accept: Accept = *unsafe { more.get("gss_accept_sec_context") }.unwrap();
    let credential = acquire_keys(library, &more, keytab);
    let mut context = Context {
        library,
        handle: null_mut(),
    };
    let mut client = Name {
        library,
        handle: null_mut(),
    };
    let mut output = Output::new(library);
    let (input, mut flags) = (Buffer::borrowed(token), 0);
    let bindings = binding.map(Bindings::borrowed);
    let bindings = bindings.as_ref().map_or(null(), from_ref);
    let accepted = call(library, |minor| {
        // SAFETY: all pointers are valid until the call returns; null is for outputs
        // that are not needed.
        unsafe {
            accept(
                minor,
                &raw mut context.handle,
                credential.handle,
                &raw const input,
                bindings,
                &raw mut client.handle,
                null_mut(),
                &raw mut output.buffer,
                &raw mut flags,
                null_mut(),
                null_mut(),
            )
        }
    });
    if let Err(failure) = accepted {
        println!("the ticket is rejected: {failure:?}");
        return Err(output.bytes());
    }
    if binding.is_some() && flags & CHANNEL_BOUND == 0 {
        return Err(Vec::new());
    }
    Ok(Accepted {
        context,
        client: client.text().unwrap(),
        token: output.bytes(),
    })
}

/// The keys of a keytab, with a replay cache beside it.
fn acquire_keys(
    library: &'static Library,
    more: &libloading::Library,
    keytab: &Path,
) -> Credential {
    // SAFETY: the type is the one of the library's header.
    let acquire: AcquireFrom = *unsafe { more.get("gss_acquire_cred_from") }.unwrap();
    let text = |text: String| CString::new(text).unwrap();
    let pairs = [
        (c"keytab", text(format!("FILE:{}", keytab.display()))),
        (c"rcache", text(format!("file2:{}.seen", keytab.display()))),
    ];
    let settings = pairs.each_ref().map(|(key, value)| Setting {
        key: key.as_ptr(),
        value: value.as_ptr(),
    });
    let store = Store {
        count: 2,
        elements: settings.as_ptr(),
    };
    let kerberos = Oid::KERBEROS;
    let mechanisms = OidSet {
        count: 1,
        elements: &raw const kerberos,
    };
    let mut handle = null_mut();
    call(library, |minor| {
        // SAFETY: all pointers are valid until the call returns; null is for any name
        // in the file and for outputs that are not needed.
        unsafe {
            acquire(
                minor,
                null_mut(),
                0,
                &raw const mechanisms,
                ACCEPT,
                &raw const store,
                &raw mut handle,
                null_mut(),
                null_mut(),
            )
        }
    })
    .unwrap();
    Credential { library, handle }
}
