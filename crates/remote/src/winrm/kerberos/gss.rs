//! Names and credentials of GSSAPI, with owners: what the library makes is given back
//! when it is dropped.
#![allow(unsafe_code, reason = "calls of a C library")]

use std::ffi::c_int;
use std::ptr::null_mut;

use casement_resource::Secret;

use super::library::{Buffer, Handle, Library, Oid, OidSet, library};

/// For use as a client.
const INITIATE: c_int = 1;

/// Why a call did not work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no library to call.
    Absent(String),
    /// What the library says: two numbers, and words.
    Said {
        major: u32,
        minor: u32,
        words: String,
    },
}

/// Calls a function. One that fails leaves its words with the thread that called it.
pub(super) fn call(
    library: &Library,
    function: impl FnOnce(*mut u32) -> u32,
) -> Result<u32, Failure> {
    let mut minor = 0;
    let major = function(&raw mut minor);
    if major >> 16 == 0 {
        return Ok(major);
    }
    let words = words(library, major, minor);
    Err(Failure::Said {
        major,
        minor,
        words,
    })
}

/// The mechanism's words, or the interface's where it has none.
fn words(library: &Library, major: u32, minor: u32) -> String {
    let (status, kind) = if minor == 0 { (major, 1) } else { (minor, 2) };
    let (mut said, kerberos) = (Vec::new(), Oid::KERBEROS);
    let (mut next, mut ignored) = (0, 0);
    loop {
        let mut output = Output::new(library);
        let buffer = &raw mut output.buffer;
        let show = library.gss_display_status;
        let (minor, kerberos) = (&raw mut ignored, &raw const kerberos);
        // SAFETY: all pointers are to what lives until the call returns.
        let shown = unsafe { show(minor, status, kind, kerberos, &raw mut next, buffer) };
        said.push(output.text());
        if shown != 0 || next == 0 {
            return said.join("; ");
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
        // SAFETY: empty, or made by the library and released in `drop` only.
        unsafe { self.buffer.bytes() }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: an empty buffer is left alone.
        unsafe { (self.library.gss_release_buffer)(&raw mut minor, &raw mut self.buffer) };
    }
}

/// A name as the library knows it.
pub(super) struct Name {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library's names belong to no thread.
unsafe impl Send for Name {}

impl Name {
    pub(super) fn import(text: &str, kind: &Oid) -> Result<Self, Failure> {
        let library = library().map_err(Failure::Absent)?;
        let text = Buffer::lent(text.as_bytes());
        let mut handle = null_mut();
        call(library, |minor| {
            // SAFETY: all pointers are to what lives until the call returns.
            unsafe { (library.gss_import_name)(minor, &raw const text, kind, &raw mut handle) }
        })?;
        Ok(Self { library, handle })
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        let mut output = Output::new(self.library);
        let buffer = &raw mut output.buffer;
        call(self.library, |minor| {
            // SAFETY: the name is alive; nobody wants to know its kind.
            unsafe { (self.library.gss_display_name)(minor, self.handle, buffer, null_mut()) }
        })?;
        Ok(output.text())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: released once, here; null is left alone.
        unsafe { (self.library.gss_release_name)(&raw mut minor, &raw mut self.handle) };
    }
}

/// A ticket, or where the library takes one from.
pub(crate) struct Credential {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library locks a credential while it works with it.
unsafe impl Send for Credential {}
// SAFETY: as above.
unsafe impl Sync for Credential {}

impl Credential {
    /// What lies in the cache: of `principal`, or of whoever it is.
    pub(crate) fn cached(principal: Option<&str>) -> Result<Self, Failure> {
        let name = principal.map(|text| Name::import(text, &Oid::USER));
        let name = name.transpose()?;
        let wanted = name.as_ref().map_or(null_mut(), |name| name.handle);
        Self::acquire(|library, minor, mechanisms, handle| {
            let acquire = library.gss_acquire_cred;
            // SAFETY: the name is alive or null, which means whoever it is; nobody
            // wants to know mechanisms and time.
            unsafe {
                acquire(
                    minor,
                    wanted,
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

    /// What a password is good for. It goes into a cache in memory.
    pub(crate) fn with_password(principal: &str, password: &Secret) -> Result<Self, Failure> {
        let name = Name::import(principal, &Oid::USER)?;
        let password = Buffer::lent(password.expose().as_bytes());
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
        ask: impl FnOnce(&'static Library, *mut u32, *const OidSet, *mut Handle) -> u32,
    ) -> Result<Self, Failure> {
        let library = library().map_err(Failure::Absent)?;
        let kerberos = Oid::KERBEROS;
        let mechanisms = OidSet {
            count: 1,
            elements: &raw const kerberos,
        };
        let mut handle = null_mut();
        call(library, |minor| {
            ask(library, minor, &raw const mechanisms, &raw mut handle)
        })?;
        Ok(Self { library, handle })
    }

    /// Whose it is, and for how many seconds it is good.
    pub(crate) fn about(&self) -> Result<(String, u32), Failure> {
        let library = self.library;
        let mut name = Name {
            library,
            handle: null_mut(),
        };
        let mut seconds = 0;
        let (handle, left) = (&raw mut name.handle, &raw mut seconds);
        let inquired = call(library, |minor| {
            let inquire = library.gss_inquire_cred;
            // SAFETY: the credential is alive; the rest nobody wants to know.
            unsafe { inquire(minor, self.handle, handle, left, null_mut(), null_mut()) }
        });
        // One that has run out is told as a failure, and told about all the same.
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
