//! The way to `netd`.

use std::fs;

use lab_wire::adapter::AdapterCall;
use lab_wire::{Answer, Call, DOOR_FILE, Door};
use serde_json::Value;
use windows_sys::Win32::Foundation::{ERROR_GEN_FAILURE, ERROR_SERVICE_NOT_ACTIVE, WIN32_ERROR};

/// Has `netd` do something; the error is what the Windows function returns.
pub fn call(call: AdapterCall) -> Result<Value, WIN32_ERROR> {
    lab_witness::called();
    // Read anew each time: a host that boots again may have another door.
    let text = fs::read_to_string(DOOR_FILE).map_err(|_| ERROR_SERVICE_NOT_ACTIVE)?;
    let door: Door = serde_json::from_str(&text).map_err(|_| ERROR_GEN_FAILURE)?;
    match door.call(Call::Adapter(call)) {
        Ok(Answer::Ok(value)) => Ok(value),
        Ok(Answer::Err(failure)) => Err(failure.code),
        Err(_) => Err(ERROR_SERVICE_NOT_ACTIVE),
    }
}

/// For functions that only succeed or fail.
pub fn code<T>(result: Result<T, WIN32_ERROR>) -> WIN32_ERROR {
    result.err().unwrap_or_default()
}
