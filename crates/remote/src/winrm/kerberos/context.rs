//! A context of GSSAPI: made with a token or two, and then sealing.
#![allow(unsafe_code, reason = "calls of a C library")]

use std::ptr::{from_ref, null, null_mut};
use std::sync::Arc;

use super::super::ntlm::seal::Forged;
use super::super::sealed::{NotSealed, Seals};
use super::gss::{Credential, Failure, Name, Output, call};
use super::library::{Bindings, Buffer, Handle, Library, Oid, Part};

/// Mutual authentication, no replay, in order, confidential, unchanged.
const FLAGS: u32 = 2 | 4 | 8 | 16 | 32;
/// What a context is of no use without: mutual, confidential, unchanged.
const NEEDED: u32 = 2 | 16 | 32;
/// There is more to say before the context stands.
const CONTINUE_NEEDED: u32 = 1;
/// Repeated, too old, out of turn, or one is missing.
const OUT_OF_ORDER: u32 = 2 | 4 | 8 | 16;

/// A context that stands, or is being made: it seals for one connection.
pub(crate) struct Context {
    pub(super) library: &'static Library,
    pub(super) handle: Handle,
}

// SAFETY: the library's contexts belong to no thread, and `&mut` lets one in at a time.
unsafe impl Send for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: deleted once, here; null is left alone.
        unsafe {
            (self.library.gss_delete_sec_context)(&raw mut minor, &raw mut self.handle, null_mut())
        };
    }
}

impl Seals for Context {
    /// The parts that WinRM puts one after the other: token, and what is sealed
    /// with its padding. RFC 4121 calls both together a wrap token, rotated so that
    /// its trailer is in front.
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), NotSealed> {
        let library = self.library;
        let mut data = message.to_vec();
        let made = |kind| Part {
            kind: kind | Part::MADE,
            buffer: Buffer::EMPTY,
        };
        let lent = Part {
            kind: Part::DATA,
            buffer: Buffer::lent_to_change(&mut data),
        };
        let mut parts = [made(Part::HEADER), lent, made(Part::PADDING)];
        let (mut sealed, first) = (0, parts.as_mut_ptr());
        let wrapped = call(library, |minor| {
            // SAFETY: the context is alive, and so are three parts; data is changed
            // in place, in memory that is ours alone.
            unsafe { (library.gss_wrap_iov)(minor, self.handle, 1, 0, &raw mut sealed, first, 3) }
        });
        // SAFETY: lent, or made by the library, or empty; none is released yet.
        let [header, sealed_data, padding] =
            parts.each_ref().map(|part| unsafe { part.buffer.bytes() });
        let mut minor = 0;
        // SAFETY: only what the library made is released, and not used afterwards.
        unsafe { (library.gss_release_iov_buffer)(&raw mut minor, parts.as_mut_ptr(), 3) };
        match wrapped {
            Ok(_) if sealed != 0 => Ok((header, [sealed_data, padding].concat())),
            _ => Err(NotSealed),
        }
    }

    fn open(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Forged> {
        let library = self.library;
        let (mut header, mut data) = (signature.to_vec(), sealed.to_vec());
        let lent = |kind, bytes: &mut Vec<u8>| Part {
            kind,
            buffer: Buffer::lent_to_change(bytes),
        };
        let mut parts = [lent(Part::HEADER, &mut header), lent(Part::DATA, &mut data)];
        let (mut confidential, first) = (0, parts.as_mut_ptr());
        let opened = call(library, |minor| {
            let unwrap = library.gss_unwrap_iov;
            // SAFETY: the context is alive, and so are two parts; they are changed in
            // place, in memory that is ours alone.
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
        match opened {
            Ok(major) if confidential != 0 && major & OUT_OF_ORDER == 0 => {
                // SAFETY: it still points into `data`.
                Ok(unsafe { parts[1].buffer.bytes() })
            }
            _ => Err(Forged),
        }
    }
}

/// A context that a client is making.
pub(crate) struct Initiator {
    context: Context,
    credential: Arc<Credential>,
    service: Name,
    binding: Option<Vec<u8>>,
}

/// What to send, and what there is to wait for.
pub(crate) struct Step {
    pub(crate) token: Vec<u8>,
    /// Whether both sides have proved who they are.
    pub(crate) done: bool,
}

impl Initiator {
    /// `service` is `HTTP@host`; `binding` ties the login to its TLS connection.
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

    /// Goes on with what the other side said; with nothing, begins. It may take as
    /// long as a domain controller does to answer.
    pub(crate) fn step(&mut self, said: &[u8]) -> Result<Step, Failure> {
        let library = self.context.library;
        let (kerberos, input) = (Oid::KERBEROS, Buffer::lent(said));
        let bindings = self.binding.as_deref().map(Bindings::lent);
        let bindings = bindings.as_ref().map_or(null(), from_ref);
        let mut output = Output::new(library);
        let mut flags = 0;
        let (context, token) = (&raw mut self.context.handle, &raw mut output.buffer);
        let major = call(library, |minor| {
            // SAFETY: all pointers are to what lives until the call returns; null is
            // for what nobody wants to know, and for the context that begins.
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

    /// The context that stands.
    pub(crate) fn context(self) -> Context {
        self.context
    }
}
