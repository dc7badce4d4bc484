//! `vmcompute.dll`: `HNSCall`, and `DestroyLayer`.

use std::mem;

use crate::error::HcnError;
use crate::record;

use super::library::Library;
use super::text::{OutText, wide};

type HnsCall = unsafe extern "system" fn(
    method: *const u16,
    path: *const u16,
    request: *const u16,
    response: *mut *mut u16,
) -> u32;

pub(crate) struct Vmcompute {
    hns_call: HnsCall,
}

impl Vmcompute {
    pub(crate) fn load() -> Result<Self, HcnError> {
        let function = Library::load("vmcompute.dll")?.function("HNSCall")?;
        // SAFETY: the function of that name has this signature.
        let hns_call = unsafe { mem::transmute::<*mut _, HnsCall>(function.as_ptr()) };
        Ok(Self { hns_call })
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Result<String, HcnError> {
        let call = format!("{method} {path}");
        let (method, path, body) = (wide(method), wide(path), wide(body));
        let mut response = OutText::null();
        // SAFETY: terminated strings, and an out-pointer for the response.
        let code = unsafe {
            (self.hns_call)(
                method.as_ptr(),
                path.as_ptr(),
                body.as_ptr(),
                response.as_out_pointer(),
            )
        };
        let response = response.text();
        if code & 0x8000_0000 != 0 {
            record::outcome(&call, code, response.as_deref())?;
        }
        response.ok_or(HcnError::InvalidResponse {
            call,
            reason: "empty response".to_owned(),
        })
    }
}

/// Identifies the container storage driver, as in hcsshim.
#[repr(C)]
struct Driver {
    /// 1: the filter driver, with full paths as ids.
    flavor: usize,
    home: *const u16,
}

type DestroyLayer = unsafe extern "system" fn(driver: *const Driver, id: *const u16) -> u32;

pub(crate) fn destroy_layer(path: &str) -> Result<(), HcnError> {
    const NAME: &str = "DestroyLayer";
    let function = Library::load("vmcompute.dll")?.function(NAME)?;
    // SAFETY: the function of that name has this signature.
    let destroy = unsafe { mem::transmute::<*mut _, DestroyLayer>(function.as_ptr()) };
    let (home, id) = (wide(""), wide(path));
    let driver = Driver {
        flavor: 1,
        home: home.as_ptr(),
    };
    // SAFETY: a driver and terminated strings that outlive the call.
    let code = unsafe { destroy(&driver, id.as_ptr()) };
    record::outcome(NAME, code, None)
}
