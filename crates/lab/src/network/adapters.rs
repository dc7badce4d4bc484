//! Routes, addresses and interface settings of the host, for its `iphlpapi.dll`.
//!
//! Works in the network namespace of `netd`. Settings that Linux supports (routes,
//! addresses, forwarding, MTU) are applied there, so they affect packets and are
//! visible to Wine's own functions. Settings that Linux lacks (weak host, interface
//! metric) are only stored. Failures have the Win32 error codes of the Windows
//! functions.

mod addresses;
mod interfaces;
mod ip;
mod routes;

use lab_wire::Failure;
use lab_wire::adapter::AdapterCall;
use serde_json::Value;

use interfaces::Interfaces;

#[derive(Debug, Default)]
pub struct Adapters {
    interfaces: Interfaces,
}

impl Adapters {
    pub fn call(&self, call: &AdapterCall) -> Result<Value, Failure> {
        match call {
            AdapterCall::CreateRoute(route) => routes::create(route)?,
            AdapterCall::SetRoute(route) => routes::set(route)?,
            AdapterCall::DeleteRoute(route) => routes::delete(route)?,
            AdapterCall::CreateAddress(address) => addresses::create(address)?,
            AdapterCall::DeleteAddress(address) => addresses::delete(address)?,
            AdapterCall::Interface(interface) => {
                let settings = self.interfaces.settings(*interface)?;
                return serde_json::to_value(settings).map_err(general);
            }
            AdapterCall::SetInterface(interface, change) => {
                self.interfaces.change(*interface, change)?;
            }
        }
        Ok(Value::Null)
    }
}

/// `ERROR_OBJECT_ALREADY_EXISTS`.
fn exists(what: impl ToString) -> Failure {
    failure(5010, what)
}

/// `ERROR_NOT_FOUND`.
fn not_found(what: impl ToString) -> Failure {
    failure(1168, what)
}

/// `ERROR_INVALID_PARAMETER`.
fn invalid(what: impl ToString) -> Failure {
    failure(87, what)
}

/// `ERROR_GEN_FAILURE`, for failures without a Windows equivalent.
fn general(what: impl ToString) -> Failure {
    failure(31, what)
}

fn failure(code: u32, what: impl ToString) -> Failure {
    Failure {
        code,
        text: what.to_string(),
    }
}
