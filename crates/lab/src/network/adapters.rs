//! Routes, addresses and interface settings of the host, for its
//! `iphlpapi.dll`.
//!
//! Works in the network namespace of the process that calls it, which is
//! `netd`'s. What Linux has (routes, addresses, forwarding, MTU) is set there,
//! so packets obey it and Wine's own functions show it; what Linux has not
//! (weak host, interface metric) is remembered, so that it reads as written.
//! Failures bear the Win32 codes that the functions of Windows return.

mod addresses;
mod interfaces;
mod ip;
mod routes;

use lab_wire::Failure;
use lab_wire::adapter::AdapterCall;
use serde_json::Value;

use interfaces::Interfaces;

/// The adapters of one host.
#[derive(Debug, Default)]
pub struct Adapters {
    interfaces: Interfaces,
}

impl Adapters {
    /// Does what is asked.
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

/// `ERROR_GEN_FAILURE`, for what cannot happen on Windows.
fn general(what: impl ToString) -> Failure {
    failure(31, what)
}

fn failure(code: u32, what: impl ToString) -> Failure {
    Failure {
        code,
        text: what.to_string(),
    }
}
