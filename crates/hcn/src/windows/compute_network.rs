//! `computenetwork.dll`.
//!
//! Each function is looked up when it is called, so that an older library without an
//! unused function works.

use std::ffi::c_void;
use std::{mem, ptr};

use windows_sys::core::GUID;

use crate::error::HcnError;
use crate::guid::Guid;
use crate::kind::{Kind, Verb};
use crate::record;

use super::library::Library;
use super::text::{OutText, wide};

type RawHandle = *mut c_void;
type Enumerate = unsafe extern "system" fn(*const u16, *mut *mut u16, *mut *mut u16) -> u32;
type Create =
    unsafe extern "system" fn(*const GUID, *const u16, *mut RawHandle, *mut *mut u16) -> u32;
type CreateEndpoint = unsafe extern "system" fn(
    RawHandle,
    *const GUID,
    *const u16,
    *mut RawHandle,
    *mut *mut u16,
) -> u32;
type Open = unsafe extern "system" fn(*const GUID, *mut RawHandle, *mut *mut u16) -> u32;
type Query = unsafe extern "system" fn(RawHandle, *const u16, *mut *mut u16, *mut *mut u16) -> u32;
type Modify = unsafe extern "system" fn(RawHandle, *const u16, *mut *mut u16) -> u32;
type Delete = unsafe extern "system" fn(*const GUID, *mut *mut u16) -> u32;
type Close = unsafe extern "system" fn(RawHandle) -> u32;

pub(crate) struct ComputeNetwork {
    library: Library,
}

/// An open object; closed when dropped.
pub(crate) struct Handle {
    raw: RawHandle,
    kind: Kind,
    close: Close,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: open, and closed only here. The result of a close is irrelevant.
        unsafe { (self.close)(self.raw) };
    }
}

/// Looks up a function with its type.
macro_rules! function {
    ($self:ident, $kind:expr, $verb:ident as $signature:ty) => {{
        let name = $kind.function(Verb::$verb);
        let address = $self.library.function(&name)?;
        // SAFETY: all functions of this verb have this signature.
        let function = unsafe { mem::transmute::<*mut c_void, $signature>(address.as_ptr()) };
        (name, function)
    }};
}

impl ComputeNetwork {
    pub(crate) fn load() -> Result<Self, HcnError> {
        Library::load("computenetwork.dll").map(|library| Self { library })
    }

    pub(crate) fn enumerate(&self, kind: Kind, query: &str) -> Result<String, HcnError> {
        let (name, function) = function!(self, kind, Enumerate as Enumerate);
        let query = wide(query);
        let mut ids = OutText::null();
        finish(&name, |error| {
            // SAFETY: a terminated string and two out-pointers.
            unsafe { function(query.as_ptr(), ids.as_out_pointer(), error) }
        })?;
        response(name, &ids)
    }

    pub(crate) fn create(&self, kind: Kind, settings: &str) -> Result<Handle, HcnError> {
        let (name, function) = function!(self, kind, Create as Create);
        let settings = wide(settings);
        // HNS takes the id from the settings, if any.
        let none = native(Guid::NIL);
        self.handle(kind, &name, |handle, error| {
            // SAFETY: an id, a terminated string and two out-pointers.
            unsafe { function(&none, settings.as_ptr(), handle, error) }
        })
    }

    pub(crate) fn create_endpoint(
        &self,
        network: &Handle,
        settings: &str,
    ) -> Result<Handle, HcnError> {
        let kind = Kind::Endpoint;
        let (name, function) = function!(self, kind, Create as CreateEndpoint);
        let settings = wide(settings);
        let none = native(Guid::NIL);
        self.handle(kind, &name, |handle, error| {
            // SAFETY: as above, and a network that is open.
            unsafe { function(network.raw, &none, settings.as_ptr(), handle, error) }
        })
    }

    pub(crate) fn open(&self, kind: Kind, id: Guid) -> Result<Handle, HcnError> {
        let (name, function) = function!(self, kind, Open as Open);
        let id = native(id);
        self.handle(kind, &name, |handle, error| {
            // SAFETY: an id and two out-pointers.
            unsafe { function(&id, handle, error) }
        })
    }

    pub(crate) fn query(&self, object: &Handle, query: &str) -> Result<String, HcnError> {
        let (name, function) = function!(self, object.kind, Query as Query);
        let query = wide(query);
        let mut properties = OutText::null();
        finish(&name, |error| {
            // SAFETY: an open object, a terminated string and two out-pointers.
            unsafe {
                function(
                    object.raw,
                    query.as_ptr(),
                    properties.as_out_pointer(),
                    error,
                )
            }
        })?;
        response(name, &properties)
    }

    pub(crate) fn modify(&self, object: &Handle, settings: &str) -> Result<(), HcnError> {
        let (name, function) = function!(self, object.kind, Modify as Modify);
        let settings = wide(settings);
        finish(&name, |error| {
            // SAFETY: an open object, a terminated string and an out-pointer.
            unsafe { function(object.raw, settings.as_ptr(), error) }
        })
    }

    pub(crate) fn delete(&self, kind: Kind, id: Guid) -> Result<(), HcnError> {
        let (name, function) = function!(self, kind, Delete as Delete);
        let id = native(id);
        finish(&name, |error| {
            // SAFETY: an id and an out-pointer.
            unsafe { function(&id, error) }
        })
    }

    /// Runs a call that returns a handle, which is closed on drop.
    fn handle(
        &self,
        kind: Kind,
        name: &str,
        call: impl FnOnce(*mut RawHandle, *mut *mut u16) -> u32,
    ) -> Result<Handle, HcnError> {
        // First, so that a handle can always be closed.
        let (_, close) = function!(self, kind, Close as Close);
        let mut raw = ptr::null_mut();
        finish(name, |error| call(&mut raw, error))?;
        Ok(Handle { raw, kind, close })
    }
}

/// Runs a call and reads its code and error record.
fn finish(name: &str, call: impl FnOnce(*mut *mut u16) -> u32) -> Result<(), HcnError> {
    let mut error = OutText::null();
    let code = call(error.as_out_pointer());
    record::outcome(name, code, error.text().as_deref())
}

fn response(call: String, text: &OutText) -> Result<String, HcnError> {
    text.text().ok_or(HcnError::InvalidResponse {
        call,
        reason: "empty response".to_owned(),
    })
}

fn native(id: Guid) -> GUID {
    GUID::from_u128(id.to_u128())
}
