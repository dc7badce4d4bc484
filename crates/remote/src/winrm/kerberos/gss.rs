//! Owned GSSAPI names and credentials, released when dropped.
#![allow(unsafe_code, reason = "calls of a C library")]

use std::ffi::c_int;
use std::ptr::null_mut;

use casement_resource::Secret;

use super::library::{Buffer, Handle, Library, Oid, OidSet, library};

/// `GSS_C_INITIATE`.
const INITIATE: c_int = 1;

#[derive(Debug)]
pub(crate) enum Failure {
    NotInstalled(String),
    Gss {
        major: u32,
        minor: u32,
        message: String,
    },
}

/// The library keeps the message of a failed call per thread, so it is read at once.
pub(super) fn call(
    library: &Library,
    function: impl FnOnce(*mut u32) -> u32,
) -> Result<u32, Failure> {
    let mut minor = 0;
    let major = function(&raw mut minor);
    if major >> 16 == 0 {
        return Ok(major);
    }
    let message = message(library, major, minor);
    Err(Failure::Gss {
        major,
        minor,
        message,
    })
}

/// The mechanism's message, or GSSAPI's own if there is none.
fn message(library: &Library, major: u32, minor: u32) -> String {
    let (status, kind) = if minor == 0 { (major, 1) } else { (minor, 2) };
    let (mut messages, kerberos) = (Vec::new(), Oid::KERBEROS);
    let (mut next, mut ignored) = (0, 0);
    loop {
        let mut output = Output::new(library);
        let buffer = &raw mut output.buffer;
        let display_status = library.gss_display_status;
        let (minor, kerberos) = (&raw mut ignored, &raw const kerberos);
        // SAFETY: all pointers are valid until the call returns.
        let status_major =
            unsafe { display_status(minor, status, kind, kerberos, &raw mut next, buffer) };
        messages.push(output.text());
        if status_major != 0 || next == 0 {
            return messages.join("; ");
        }
    }
}

/// A buffer that the library fills.
pub(super) struct Output<'a> {
    library: &'a Library,
    pub(super) buffer: Buffer,
}

impl<'a> Output<'a> {
    pub(super) fn new(library: &'a Library) -> Self {
        let buffer = Buffer::EMPTY;
        Self { library, buffer }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        // SAFETY: empty, or allocated by the library and released only in `drop`.
        unsafe { self.buffer.bytes() }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: releasing an empty buffer has no effect.
        unsafe { (self.library.gss_release_buffer)(&raw mut minor, &raw mut self.buffer) };
    }
}

pub(super) struct Name {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library's names are not bound to a thread.
unsafe impl Send for Name {}

impl Name {
    pub(super) fn import(text: &str, kind: &Oid) -> Result<Self, Failure> {
        let library = library().map_err(Failure::NotInstalled)?;
        let text = Buffer::borrowed(text.as_bytes());
        let mut handle = null_mut();
        call(library, |minor| {
            // SAFETY: all pointers are valid until the call returns.
            unsafe { (library.gss_import_name)(minor, &raw const text, kind, &raw mut handle) }
        })?;
        Ok(Self { library, handle })
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        let mut output = Output::new(self.library);
        let buffer = &raw mut output.buffer;
        call(self.library, |minor| {
            // SAFETY: the name is alive; its type is not requested.
            unsafe { (self.library.gss_display_name)(minor, self.handle, buffer, null_mut()) }
        })?;
        Ok(output.text())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: released once, here; releasing null has no effect.
        unsafe { (self.library.gss_release_name)(&raw mut minor, &raw mut self.handle) };
    }
}

pub(crate) struct Credential {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library locks a credential during each call.
unsafe impl Send for Credential {}
// SAFETY: as above.
unsafe impl Sync for Credential {}

impl Credential {
    /// The cached credential of `principal`, or the default one.
    pub(crate) fn cached(principal: Option<&str>) -> Result<Self, Failure> {
        let name = principal.map(|text| Name::import(text, &Oid::USER));
        let name = name.transpose()?;
        let name_handle = name.as_ref().map_or(null_mut(), |name| name.handle);
        Self::acquire(|library, minor, mechanisms, handle| {
            let acquire = library.gss_acquire_cred;
            // SAFETY: the name is alive or null, which selects the default; mechanisms
            // and lifetime are not requested.
            unsafe {
                acquire(
                    minor,
                    name_handle,
                    0,
                    mechanisms,
                    INITIATE,
                    handle,
                    null_mut(),
                    null_mut(),
                )
            }
        })
    }

    /// Gets a ticket with a password; it is cached in memory only.
    pub(crate) fn with_password(principal: &str, password: &Secret) -> Result<Self, Failure> {
        let name = Name::import(principal, &Oid::USER)?;
        let password = Buffer::borrowed(password.expose().as_bytes());
        Self::acquire(|library, minor, mechanisms, handle| {
            let acquire = library.gss_acquire_cred_with_password;
            let password = &raw const password;
            // SAFETY: the name and the password live until the call returns, which
            // copies them.
            unsafe {
                acquire(
                    minor,
                    name.handle,
                    password,
                    0,
                    mechanisms,
                    INITIATE,
                    handle,
                    null_mut(),
                    null_mut(),
                )
            }
        })
    }

    fn acquire(
        acquire: impl FnOnce(&'static Library, *mut u32, *const OidSet, *mut Handle) -> u32,
    ) -> Result<Self, Failure> {
        let library = library().map_err(Failure::NotInstalled)?;
        let kerberos = Oid::KERBEROS;
        let mechanisms = OidSet {
            count: 1,
            elements: &raw const kerberos,
        };
        let mut handle = null_mut();
        call(library, |minor| {
            acquire(library, minor, &raw const mechanisms, &raw mut handle)
        })?;
        Ok(Self { library, handle })
    }

    /// The principal and the remaining lifetime in seconds.
    pub(crate) fn inquire(&self) -> Result<(String, u32), Failure> {
        let library = self.library;
        let mut name = Name {
            library,
            handle: null_mut(),
        };
        let mut seconds = 0;
        let (handle, lifetime) = (&raw mut name.handle, &raw mut seconds);
        let inquired = call(library, |minor| {
            let inquire = library.gss_inquire_cred;
            // SAFETY: the credential is alive; the other values are not requested.
            unsafe { inquire(minor, self.handle, handle, lifetime, null_mut(), null_mut()) }
        });
        // For an expired credential the call fails but still returns the name.
        if name.handle.is_null() {
            inquired?;
        }
        Ok((name.text()?, seconds))
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: released once, here.
        unsafe { (self.library.gss_release_cred)(&raw mut minor, &raw mut self.handle) };
    }
}
