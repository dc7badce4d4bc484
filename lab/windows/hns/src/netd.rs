//! Client of the host's `netd`.

use std::io;
use std::sync::OnceLock;

use lab_wire::{Call, Failure, NETD_ACCESS_FILE, NetdAccess, Response};
use serde_json::Value;

/// Overrides [`NETD_ACCESS_FILE`], for tests.
const ACCESS_FILE_VARIABLE: &str = "CASEMENT_LAB_NETD_ACCESS";
/// The RPC failure that callers get while the HNS service is down.
const SERVICE_UNAVAILABLE: u32 = 0x8007_06B5;

#[derive(Debug)]
pub enum CallError {
    /// `netd` cannot be reached.
    Unavailable(Failure),
    Rejected(Failure),
}

/// Calls `netd`; the result is a document, an id, or empty.
pub fn send(call: Call) -> Result<String, CallError> {
    lab_call_counter::record();
    let response = netd_access().and_then(|access| access.call(call));
    match response {
        Ok(Response::Ok(Value::String(text))) => Ok(text),
        Ok(Response::Ok(Value::Null)) => Ok(String::new()),
        Ok(Response::Ok(document)) => Ok(document.to_string()),
        Ok(Response::Err(failure)) => Err(CallError::Rejected(failure)),
        Err(_) => Err(CallError::Unavailable(Failure {
            code: SERVICE_UNAVAILABLE,
            text: "The interface is unknown.".to_owned(),
        })),
    }
}

/// Read once, when the file exists, and then cached for the process.
fn netd_access() -> io::Result<&'static NetdAccess> {
    static ACCESS: OnceLock<NetdAccess> = OnceLock::new();
    if let Some(access) = ACCESS.get() {
        return Ok(access);
    }
    let path = std::env::var(ACCESS_FILE_VARIABLE).unwrap_or_else(|_| NETD_ACCESS_FILE.to_owned());
    let access = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(ACCESS.get_or_init(|| access))
}
