//! Implementation shared by the exported functions.
//!
//! HRESULTs are returned as 64 bits with the upper half zero: Go reads the
//! whole register, and PowerShell declares the functions with a 64-bit result.
#![allow(unsafe_code, reason = "the callers of a C API pass pointers")]

use lab_wire::hcn::{HcnCall, HnsCall, Object, Verb, error_record};
use lab_wire::{Call, Failure};
use windows_sys::core::GUID;

use crate::memory::{
    Handle, OpenObject, TextOut, WideText, close_handle, read_handle, read_id, read_text,
    write_handle, write_null, write_text,
};
use crate::netd::{self, CallError};

/// An HRESULT, zero-extended.
pub type Code = u64;

const OK: Code = 0;
const INVALID_HANDLE: u32 = 0x8007_0006;

/// Sends a call and sets the error record: NULL on success, because callers
/// treat any text as a failure.
///
/// # Safety
/// `error` is NULL or valid for writes.
unsafe fn call_hcn(call: HcnCall, error: TextOut) -> Result<String, Code> {
    // SAFETY: as the caller promises.
    unsafe { write_null(error) };
    match netd::send(Call::Hcn(call)) {
        Ok(text) => Ok(text),
        Err(CallError::Unavailable(failure) | CallError::Rejected(failure)) => {
            // SAFETY: as the caller promises.
            unsafe { write_text(error, &error_record(&failure)) };
            Err(u64::from(failure.code))
        }
    }
}

/// # Safety
/// `error` is NULL or valid for writes.
unsafe fn invalid_handle(error: TextOut) -> Code {
    let failure = Failure {
        code: INVALID_HANDLE,
        text: "The handle is invalid.".to_owned(),
    };
    // SAFETY: as the caller promises.
    unsafe { write_text(error, &error_record(&failure)) };
    u64::from(failure.code)
}

fn hcn_call(verb: Verb, object: Object, id: String) -> HcnCall {
    HcnCall {
        verb,
        object,
        id,
        network: String::new(),
        document: String::new(),
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn enumerate(object: Object, query: WideText, ids: TextOut, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(ids);
        let call = HcnCall {
            document: read_text(query),
            ..hcn_call(Verb::Enumerate, object, String::new())
        };
        match call_hcn(call, error) {
            Ok(list) => {
                write_text(ids, &list);
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are valid as the C API requires; `network` is for endpoints.
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
            ..hcn_call(Verb::Create, object, read_id(id))
        };
        match call_hcn(call, error) {
            Ok(id) => {
                write_handle(handle, OpenObject { object, id });
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn open(object: Object, id: *const GUID, handle: *mut Handle, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let id = read_id(id);
        match call_hcn(hcn_call(Verb::Open, object, id.clone()), error) {
            Ok(_) => {
                write_handle(handle, OpenObject { object, id });
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn modify(handle: Handle, settings: WideText, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let Some(opened) = read_handle(handle) else {
            return invalid_handle(error);
        };
        let call = HcnCall {
            document: read_text(settings),
            ..hcn_call(Verb::Modify, opened.object, opened.id)
        };
        call_hcn(call, error).map_or_else(|code| code, |_| OK)
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn query(handle: Handle, query: WideText, properties: TextOut, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(properties);
        let Some(opened) = read_handle(handle) else {
            return invalid_handle(error);
        };
        let call = HcnCall {
            document: read_text(query),
            ..hcn_call(Verb::Query, opened.object, opened.id)
        };
        match call_hcn(call, error) {
            Ok(document) => {
                write_text(properties, &document);
                OK
            }
            Err(code) => code,
        }
    }
}

/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn delete(object: Object, id: *const GUID, error: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        let call = hcn_call(Verb::Delete, object, read_id(id));
        call_hcn(call, error).map_or_else(|code| code, |_| OK)
    }
}

/// # Safety
/// The handle came from this DLL and is not closed yet.
pub unsafe fn close(handle: Handle) -> Code {
    // SAFETY: as the caller promises.
    unsafe { close_handle(handle) };
    OK
}

/// Errors are returned in the response, because flannel searches its text; only
/// an unavailable service fails with an HRESULT.
///
/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn hns(method: WideText, path: WideText, request: WideText, response: TextOut) -> Code {
    // SAFETY: as the caller promises, here and below.
    unsafe {
        write_null(response);
        let call = HnsCall {
            method: read_text(method),
            path: read_text(path),
            body: read_text(request),
        };
        match netd::send(Call::Hns(call)) {
            Ok(document) => write_text(response, &document),
            Err(CallError::Rejected(failure)) => write_text(response, &error_record(&failure)),
            Err(CallError::Unavailable(failure)) => return u64::from(failure.code),
        }
    }
    OK
}
