//! What the exported functions have in common.
//!
//! HRESULTs are returned as 64 bits with the upper half zero: Go keeps all of
//! the register, and PowerShell declares it as such.
#![allow(unsafe_code, reason = "the callers of a C API pass pointers")]

use lab_wire::hcn::{HcnCall, HnsCall, Object, Verb, error_record};
use lab_wire::{Call, Failure};
use windows_sys::core::GUID;

use crate::memory::{
    Handle, Opened, TextOut, WideText, close_handle, read_handle, read_id, read_text, write_handle,
    write_null, write_text,
};
use crate::netd::{Refusal, ask};

/// An HRESULT, zero-extended.
pub type Code = u64;

const OK: Code = 0;
const INVALID_HANDLE: u32 = 0x8007_0006;

/// Asks, and settles the error record: NULL on success, as callers take any
/// text for a failure.
///
/// # Safety
/// `error` is NULL or may be written through.
unsafe fn hcn(call: HcnCall, error: TextOut) -> Result<String, Code> {
    // SAFETY: as the caller promises.
    unsafe { write_null(error) };
    match ask(Call::Hcn(call)) {
        Ok(text) => Ok(text),
        Err(Refusal::Down(failure) | Refusal::Refused(failure)) => {
            // SAFETY: as the caller promises.
            unsafe { write_text(error, &error_record(&failure)) };
            Err(u64::from(failure.code))
        }
    }
}

/// # Safety
/// `error` is NULL or may be written through.
unsafe fn bad_handle(error: TextOut) -> Code {
    let failure = Failure {
        code: INVALID_HANDLE,
        text: "The handle is invalid.".to_owned(),
    };
    // SAFETY: as the caller promises.
    unsafe { write_text(error, &error_record(&failure)) };
    u64::from(failure.code)
}

fn plain(verb: Verb, object: Object, id: String) -> HcnCall {
    HcnCall {
        verb,
        object,
        id,
        network: String::new(),
        document: String::new(),
    }
}

/// # Safety
/// The pointers are as the C API says.
pub unsafe fn enumerate(object: Object, query: WideText, ids: TextOut, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(ids);
        let call = HcnCall {
            document: read_text(query),
            ..plain(Verb::Enumerate, object, String::new())
        };
        match hcn(call, error) {
            Ok(list) => {
                write_text(ids, &list);
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are as the C API says; `network` is for endpoints.
pub unsafe fn create(
    object: Object,
    network: Handle,
    id: *const GUID,
    settings: WideText,
    handle: *mut Handle,
    error: TextOut,
) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let network = read_handle(network).map(|opened| opened.id);
        let call = HcnCall {
            network: network.unwrap_or_default(),
            document: read_text(settings),
            ..plain(Verb::Create, object, read_id(id))
        };
        match hcn(call, error) {
            Ok(id) => {
                write_handle(handle, Opened { object, id });
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are as the C API says.
pub unsafe fn open(object: Object, id: *const GUID, handle: *mut Handle, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let id = read_id(id);
        match hcn(plain(Verb::Open, object, id.clone()), error) {
            Ok(_) => {
                write_handle(handle, Opened { object, id });
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are as the C API says.
pub unsafe fn modify(handle: Handle, settings: WideText, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let Some(opened) = read_handle(handle) else {
            return bad_handle(error);
        };
        let call = HcnCall {
            document: read_text(settings),
            ..plain(Verb::Modify, opened.object, opened.id)
        };
        hcn(call, error).map_or_else(|code| code, |_| OK)
    }
}

/// # Safety
/// The pointers are as the C API says.
pub unsafe fn query(handle: Handle, query: WideText, properties: TextOut, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(properties);
        let Some(opened) = read_handle(handle) else {
            return bad_handle(error);
        };
        let call = HcnCall {
            document: read_text(query),
            ..plain(Verb::Query, opened.object, opened.id)
        };
        match hcn(call, error) {
            Ok(document) => {
                write_text(properties, &document);
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are as the C API says.
pub unsafe fn delete(object: Object, id: *const GUID, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let call = plain(Verb::Delete, object, read_id(id));
        hcn(call, error).map_or_else(|code| code, |_| OK)
    }
}

/// # Safety
/// The handle is one of ours, not yet closed.
pub unsafe fn close(handle: Handle) -> Code {
    // SAFETY: as the caller promises.
    unsafe { close_handle(handle) };
    OK
}

/// Refusals travel in the response, because flannel looks for words in it; only
/// a service that is down fails by HRESULT.
///
/// # Safety
/// The pointers are as the C API says.
pub unsafe fn hns(method: WideText, path: WideText, request: WideText, response: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(response);
        let call = HnsCall {
            method: read_text(method),
            path: read_text(path),
            body: read_text(request),
        };
        match ask(Call::Hns(call)) {
            Ok(document) => write_text(response, &document),
            Err(Refusal::Refused(failure)) => write_text(response, &error_record(&failure)),
            Err(Refusal::Down(failure)) => return u64::from(failure.code),
        }
    }
    OK
}
