//! The first generation of the interface: one function with HTTP-like methods and paths.

use std::fmt;

use serde_json::Value;

use crate::error::HcnError;
use crate::platform::Vmcompute;
use crate::record;

/// The first generation of HNS, through `vmcompute.dll!HNSCall`.
pub struct Hns {
    library: Vmcompute,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    /// Creates or changes.
    Post,
    Delete,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

impl Hns {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// [`HcnError::MissingLibrary`] on a host without the feature `Containers`.
    pub fn load() -> Result<Self, HcnError> {
        Vmcompute::load().map(|library| Self { library })
    }

    /// Returns the output: an object, a list, or `Value::Null`.
    pub fn call(
        &self,
        method: Method,
        path: &str,
        request: Option<&Value>,
    ) -> Result<Value, HcnError> {
        let body = request.map(Value::to_string).unwrap_or_default();
        let response = self.library.call(method.as_str(), path, &body)?;
        output(&format!("{} {path}", method.as_str()), &response)
    }
}

impl fmt::Debug for Hns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hns")
    }
}

fn output(call: &str, response: &str) -> Result<Value, HcnError> {
    let mut response: Value =
        serde_json::from_str(response).map_err(|error| HcnError::InvalidResponse {
            call: call.to_owned(),
            reason: error.to_string(),
        })?;
    if response.get("Success") == Some(&Value::Bool(true)) {
        Ok(response
            .get_mut("Output")
            .map(Value::take)
            .unwrap_or_default())
    } else {
        Err(record::call_error(call, 0, Some(&response)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_returns_its_output() {
        let output = output("GET /networks/", r#"{"Success":true,"Output":[1]}"#).unwrap();
        assert_eq!(output, serde_json::json!([1]));
    }

    #[test]
    fn a_success_may_have_no_output() {
        assert!(
            output("DELETE /x", r#"{"Success":true}"#)
                .unwrap()
                .is_null()
        );
    }

    #[test]
    fn a_failure_inside_a_successful_call_is_an_error() {
        let response =
            r#"{"Success":false,"Error":"The network was not found. ","ErrorCode":2151350273}"#;
        assert!(
            output("GET /networks/x", response)
                .unwrap_err()
                .is_not_found()
        );
    }
}
