//! MIT's GSSAPI library (RFC 2744): its types and the functions that a login needs,
//! loaded on first use.
#![allow(unsafe_code, reason = "functions found by name in a C library")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Not linked, so that casement runs without it.
const FILE: &str = "libgssapi_krb5.so.2";

/// An opaque name, credential, context or set.
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

    /// Valid as long as `bytes`, and for reading only.
    pub(super) fn borrowed(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len(),
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }

    pub(super) fn borrowed_mut(bytes: &mut [u8]) -> Self {
        Self {
            length: bytes.len(),
            value: bytes.as_mut_ptr().cast(),
        }
    }

    /// # Safety
    ///
    /// The buffer must be valid: borrowed, or allocated by the library and not yet
    /// released.
    pub(super) unsafe fn bytes(&self) -> Vec<u8> {
        if self.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the caller guarantees pointer and length.
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
    /// The Kerberos 5 mechanism: 1.2.840.113554.1.2.2.
    pub(super) const KERBEROS: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
    /// A name such as `HTTP@host`: 1.2.840.113554.1.2.1.4.
    pub(super) const SERVICE: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");
    /// A name such as `anna@SHOP.EXAMPLE`: 1.2.840.113554.1.2.1.1.
    pub(super) const USER: Self = Self::new(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x01");

    const fn new(bytes: &'static [u8]) -> Self {
        Self {
            // At most 10.
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

/// `gss_channel_bindings_struct`: no addresses, only application data.
#[repr(C)]
pub(super) struct Bindings {
    initiator_kind: u32,
    initiator: Buffer,
    acceptor_kind: u32,
    acceptor: Buffer,
    data: Buffer,
}

impl Bindings {
    pub(super) fn borrowed(data: &[u8]) -> Self {
        Self {
            initiator_kind: 0,
            initiator: Buffer::EMPTY,
            acceptor_kind: 0,
            acceptor: Buffer::EMPTY,
            data: Buffer::borrowed(data),
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
    /// The library allocates the buffer.
    pub(super) const ALLOCATE: u32 = 0x0001_0000;
}

/// Declares each function once: its field, its type, and its symbol.
macro_rules! functions {
    ($($name:ident($($argument:ty),+);)+) => {
        /// The loaded library, which is never unloaded, and its functions. Each takes a
        /// pointer for the minor status first, and returns the major status.
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn(*mut u32, $($argument),+) -> u32,)+
            _library: libloading::Library,
        }

        impl Library {
            fn load(file: &str) -> Result<Self, String> {
                // SAFETY: loading it has the same effects as in every program that links
                // against it.
                let library = unsafe { libloading::Library::new(file) }.map_err(message)?;
                Ok(Self {
                    // SAFETY: the types are those of the library's headers, gssapi.h
                    // and gssapi_ext.h.
                    $($name: *unsafe { library.get(stringify!($name)) }.map_err(message)?,)+
                    _library: library,
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

/// The dynamic linker's message.
fn message(error: libloading::Error) -> String {
    let source = std::error::Error::source(&error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Loaded once; otherwise the dynamic linker's message.
pub(super) fn library() -> Result<&'static Library, String> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Library::load(FILE));
    loaded.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_library_is_named_in_the_error() {
        let error = Library::load("libcasement-nothing.so.0").err().unwrap();
        assert!(error.contains("libcasement-nothing.so.0"), "{error}");
    }

    #[test]
    fn library_without_the_functions_is_rejected() {
        let error = Library::load("libc.so.6").err().unwrap();
        assert!(error.contains("gss_import_name"), "{error}");
    }
}
