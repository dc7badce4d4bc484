//! A GSSAPI security context: established with one or two tokens, then used to seal
//! messages.
#![allow(unsafe_code, reason = "calls of a C library")]

use std::ptr::{from_ref, null, null_mut};
use std::sync::Arc;

use super::super::ntlm::seal::BadSignature;
use super::super::sealed::{SealError, Sealer};
use super::gss::{Credential, Failure, Name, Output, call};
use super::library::{Bindings, Buffer, Handle, Library, Oid, Part};

/// Mutual authentication, replay detection, sequence detection, confidentiality,
/// integrity.
const FLAGS: u32 = 2 | 4 | 8 | 16 | 32;
/// Required: mutual authentication, confidentiality, integrity.
const NEEDED: u32 = 2 | 16 | 32;
/// `GSS_S_CONTINUE_NEEDED`.
const CONTINUE_NEEDED: u32 = 1;
/// Duplicate, old, out of sequence, or gap.
const OUT_OF_ORDER: u32 = 2 | 4 | 8 | 16;

pub(crate) struct Context {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library's contexts are not bound to a thread, and `&mut` excludes
// concurrent calls.
unsafe impl Send for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: deleted once, here; deleting null has no effect.
        unsafe {
            (self.library.gss_delete_sec_context)(&raw mut minor, &raw mut self.handle, null_mut())
        };
    }
}

impl Sealer for Context {
    /// Returns the parts as WinRM expects them: the token, and the sealed data with its
    /// padding. RFC 4121 calls both together a wrap token, rotated so that its trailer
    /// is in front.
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SealError> {
        let library = self.library;
        let mut data = message.to_vec();
        let allocated = |kind| Part {
            kind: kind | Part::ALLOCATE,
            buffer: Buffer::EMPTY,
        };
        let borrowed = Part {
            kind: Part::DATA,
            buffer: Buffer::borrowed_mut(&mut data),
        };
        let mut parts = [allocated(Part::HEADER), borrowed, allocated(Part::PADDING)];
        let (mut sealed, first) = (0, parts.as_mut_ptr());
        let wrapped = call(library, |minor| {
            // SAFETY: the context and the three parts are alive; the data is changed in
            // place in our own memory.
            unsafe { (library.gss_wrap_iov)(minor, self.handle, 1, 0, &raw mut sealed, first, 3) }
        });
        // SAFETY: borrowed, allocated by the library, or empty; none is released yet.
        let [header, sealed_data, padding] =
            parts.each_ref().map(|part| unsafe { part.buffer.bytes() });
        let mut minor = 0;
        // SAFETY: only buffers of the library are released, and not used afterwards.
        unsafe { (library.gss_release_iov_buffer)(&raw mut minor, parts.as_mut_ptr(), 3) };
        match wrapped {
            Ok(_) if sealed != 0 => Ok((header, [sealed_data, padding].concat())),
            _ => Err(SealError),
        }
    }

    fn unseal(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, BadSignature> {
        let library = self.library;
        let (mut header, mut data) = (signature.to_vec(), sealed.to_vec());
        let borrowed = |kind, bytes: &mut Vec<u8>| Part {
            kind,
            buffer: Buffer::borrowed_mut(bytes),
        };
        let mut parts = [
            borrowed(Part::HEADER, &mut header),
            borrowed(Part::DATA, &mut data),
        ];
        let (mut confidential, first) = (0, parts.as_mut_ptr());
        let unwrapped = call(library, |minor| {
            let unwrap = library.gss_unwrap_iov;
            // SAFETY: the context and the two parts are alive; they are changed in place
            // in our own memory.
            unsafe {
                unwrap(
                    minor,
                    self.handle,
                    &raw mut confidential,
                    null_mut(),
                    first,
                    2,
                )
            }
        });
        match unwrapped {
            Ok(major) if confidential != 0 && major & OUT_OF_ORDER == 0 => {
                // SAFETY: it still points into `data`.
                Ok(unsafe { parts[1].buffer.bytes() })
            }
            _ => Err(BadSignature),
        }
    }
}

/// The client side of a context that is being established.
pub(crate) struct Initiator {
    context: Context,
    credential: Arc<Credential>,
    service: Name,
    binding: Option<Vec<u8>>,
}

pub(crate) struct Step {
    pub(crate) token: Vec<u8>,
    /// Whether both sides are authenticated.
    pub(crate) done: bool,
}

impl Initiator {
    /// `service` is `HTTP@host`; `binding` binds the login to its TLS connection.
    pub(crate) fn new(
        credential: Arc<Credential>,
        service: &str,
        binding: Option<Vec<u8>>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            service: Name::import(service, &Oid::SERVICE)?,
            context: Context {
                library: credential.library,
                handle: null_mut(),
            },
            credential,
            binding,
        })
    }

    /// Processes a token of the other side; an empty one starts. May block on a domain
    /// controller.
    pub(crate) fn step(&mut self, received: &[u8]) -> Result<Step, Failure> {
        let library = self.context.library;
        let (kerberos, input) = (Oid::KERBEROS, Buffer::borrowed(received));
        let bindings = self.binding.as_deref().map(Bindings::borrowed);
        let bindings = bindings.as_ref().map_or(null(), from_ref);
        let mut output = Output::new(library);
        let mut flags = 0;
        let (context, token) = (&raw mut self.context.handle, &raw mut output.buffer);
        let major = call(library, |minor| {
            // SAFETY: all pointers are valid until the call returns; null is for values
            // that are not requested, and for a new context.
            unsafe {
                (library.gss_init_sec_context)(
                    minor,
                    self.credential.handle,
                    context,
                    self.service.handle,
                    &raw const kerberos,
                    FLAGS,
                    0,
                    bindings,
                    &raw const input,
                    null_mut(),
                    token,
                    &raw mut flags,
                    null_mut(),
                )
            }
        })?;
        Ok(Step {
            token: output.bytes(),
            done: major & CONTINUE_NEEDED == 0 && flags & NEEDED == NEEDED,
        })
    }

    pub(crate) fn context(self) -> Context {
        self.context
    }
}
