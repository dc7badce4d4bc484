//! Client of the host's `netd`.

use std::fs;

use lab_wire::adapter::AdapterCall;
use lab_wire::{Call, NETD_ACCESS_FILE, NetdAccess, Response};
use serde_json::Value;
use windows_sys::Win32::Foundation::{ERROR_GEN_FAILURE, ERROR_SERVICE_NOT_ACTIVE, WIN32_ERROR};

/// Calls `netd`; the error is the return value of the Windows function.
pub fn call(call: AdapterCall) -> Result<Value, WIN32_ERROR> {
    lab_call_counter::record();
    // Read on each call: the access data may change when the host reboots.
    let text = fs::read_to_string(NETD_ACCESS_FILE).map_err(|_| ERROR_SERVICE_NOT_ACTIVE)?;
    let access: NetdAccess = serde_json::from_str(&text).map_err(|_| ERROR_GEN_FAILURE)?;
    match access.call(Call::Adapter(call)) {
        Ok(Response::Ok(value)) => Ok(value),
        Ok(Response::Err(failure)) => Err(failure.code),
        Err(_) => Err(ERROR_SERVICE_NOT_ACTIVE),
    }
}

/// The return value of a function without a result.
pub fn code<T>(result: Result<T, WIN32_ERROR>) -> WIN32_ERROR {
    result.err().unwrap_or_default()
}
