//! MIT's GSSAPI library (RFC 2744): its types, and the few functions that a login
//! takes, found by name when the first one asks for a ticket.
#![allow(unsafe_code, reason = "functions found by name in a C library")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Its file. Nothing is linked against it: casement starts where it is absent.
const FILE: &str = "libgssapi_krb5.so.2";

/// A name, a credential, a context or a set: only the library looks inside.
pub(super) type Handle = *mut c_void;

/// `gss_buffer_desc`.
#[repr(C)]
pub(super) struct Buffer {
    length: usize,
    value: *mut c_void,
}

impl Buffer {
    pub(super) const EMPTY: Self = Self {
        length: 0,
        value: null_mut(),
    };

    /// Lent: good for as long as `bytes` are, and for reading only.
    pub(super) fn lent(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len(),
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// Lent, to be written to.
    pub(super) fn lent_to_change(bytes: &mut [u8]) -> Self {
        Self {
            length: bytes.len(),
            value: bytes.as_mut_ptr().cast(),
        }
    }

    /// What it points to.
    ///
    /// # Safety
    ///
    /// It must point to something that is there: lent, or made by the library and
    /// not yet released.
    pub(super) unsafe fn bytes(&self) -> Vec<u8> {
        if self.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the caller vouches for pointer and length.
        unsafe { std::slice::from_raw_parts(self.value.cast::<u8>(), self.length) }.to_vec()
    }
}

/// `gss_OID_desc`.
#[repr(C)]
pub(super) struct Oid {
    length: u32,
    elements: *const u8,
}

impl Oid {
    /// Kerberos 5 as a mechanism: 1.2.840.113554.1.2.2.
    pub(super) const KERBEROS: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
    /// A name such as `HTTP@host`: 1.2.840.113554.1.2.1.4.
    pub(super) const SERVICE: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");
    /// A name such as `anna@SHOP.EXAMPLE`: 1.2.840.113554.1.2.1.1.
    pub(super) const USER: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x01");

    const fn new(bytes: &'static [u8]) -> Self {
        Self {
            // Ten at most.
            length: bytes.len() as u32,
            elements: bytes.as_ptr(),
        }
    }
}

/// `gss_OID_set_desc`.
#[repr(C)]
pub(super) struct OidSet {
    pub(super) count: usize,
    pub(super) elements: *const Oid,
}

/// `gss_channel_bindings_struct`: no addresses, only what ties to the connection.
#[repr(C)]
pub(super) struct Bindings {
    initiator_kind: u32,
    initiator: Buffer,
    acceptor_kind: u32,
    acceptor: Buffer,
    data: Buffer,
}

impl Bindings {
    pub(super) fn lent(data: &[u8]) -> Self {
        Self {
            initiator_kind: 0,
            initiator: Buffer::EMPTY,
            acceptor_kind: 0,
            acceptor: Buffer::EMPTY,
            data: Buffer::lent(data),
        }
    }
}

/// `gss_iov_buffer_desc`.
#[repr(C)]
pub(super) struct Part {
    pub(super) kind: u32,
    pub(super) buffer: Buffer,
}

impl Part {
    pub(super) const DATA: u32 = 1;
    pub(super) const HEADER: u32 = 2;
    pub(super) const PADDING: u32 = 9;
    /// The library makes the buffer.
    pub(super) const MADE: u32 = 0x0001_0000;
}

/// Names each function once: its place in the table, its type, and how it is found.
macro_rules! functions {
    ($($name:ident($($argument:ty),+);)+) => {
        /// The library, which is never let go, and its functions. Each takes the
        /// place for its minor status first, and returns the major one.
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn(*mut u32, $($argument),+) -> u32,)+
            _kept: libloading::Library,
        }

        impl Library {
            fn load(file: &str) -> Result<Self, String> {
                // SAFETY: what the library does when it is loaded is what it does in
                // every program that is linked against it.
                let library = unsafe { libloading::Library::new(file) }.map_err(words)?;
                Ok(Self {
                    // SAFETY: the types are those of the library's headers, gssapi.h
                    // and gssapi_ext.h.
                    $($name: *unsafe { library.get(stringify!($name)) }.map_err(words)?,)+
                    _kept: library,
                })
            }
        }
    };
}

functions! {
    gss_import_name(*const Buffer, *const Oid, *mut Handle);
    gss_display_name(Handle, *mut Buffer, *mut *const Oid);
    gss_release_name(*mut Handle);
    gss_acquire_cred(Handle, u32, *const OidSet, c_int, *mut Handle, *mut Handle, *mut u32);
    gss_acquire_cred_with_password(
        Handle, *const Buffer, u32, *const OidSet, c_int, *mut Handle, *mut Handle, *mut u32
    );
    gss_inquire_cred(Handle, *mut Handle, *mut u32, *mut c_int, *mut Handle);
    gss_release_cred(*mut Handle);
    gss_init_sec_context(
        Handle, *mut Handle, Handle, *const Oid, u32, u32, *const Bindings, *const Buffer,
        *mut *const Oid, *mut Buffer, *mut u32, *mut u32
    );
    gss_delete_sec_context(*mut Handle, *mut Buffer);
    gss_wrap_iov(Handle, c_int, u32, *mut c_int, *mut Part, c_int);
    gss_unwrap_iov(Handle, *mut c_int, *mut u32, *mut Part, c_int);
    gss_release_iov_buffer(*mut Part, c_int);
    gss_release_buffer(*mut Buffer);
    gss_display_status(u32, c_int, *const Oid, *mut u32, *mut Buffer);
}

/// What the system says, and not only what it was asked for.
fn words(error: libloading::Error) -> String {
    let source = std::error::Error::source(&error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

/// The library, loaded once; or what the system says.
pub(super) fn library() -> Result<&'static Library, String> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Library::load(FILE));
    loaded.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let said = Library::load("libcasement-nothing.so.0").err().unwrap();
        assert!(said.contains("libcasement-nothing.so.0"), "{said}");
    }

    #[test]
    fn another_library_is_not_taken_for_it() {
        let said = Library::load("libc.so.6").err().unwrap();
        assert!(said.contains("gss_import_name"), "{said}");
    }
}
