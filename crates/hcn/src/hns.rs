//! The first generation of the interface: one function with methods and paths.

use std::fmt;

use serde_json::Value;

use crate::error::HcnError;
use crate::platform::Vmcompute;
use crate::record;

/// The first generation of HNS, through `vmcompute.dll!HNSCall`.
pub struct Hns {
    library: Vmcompute,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes or changes.
    Post,
    /// Deletes.
    Delete,
}

impl Method {
    fn word(self) -> &'static str {
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
    /// [`HcnError::Absent`] on a host without the feature `Containers`.
    pub fn load() -> Result<Self, HcnError> {
        Vmcompute::load().map(|library| Self { library })
    }

    /// Makes a call and gives what came back: an object, a list, or nothing
    /// (`Value::Null`).
    pub fn call(
        &self,
        method: Method,
        path: &str,
        request: Option<&Value>,
    ) -> Result<Value, HcnError> {
        let body = request.map(Value::to_string).unwrap_or_default();
        let answer = self.library.call(method.word(), path, &body)?;
        output(&format!("{} {path}", method.word()), &answer)
    }
}

impl fmt::Debug for Hns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hns")
    }
}

fn output(call: &str, answer: &str) -> Result<Value, HcnError> {
    let mut answer: Value = serde_json::from_str(answer).map_err(|error| HcnError::Answer {
        call: call.to_owned(),
        reason: error.to_string(),
    })?;
    if answer.get("Success") == Some(&Value::Bool(true)) {
        Ok(answer
            .get_mut("Output")
            .map(Value::take)
            .unwrap_or_default())
    } else {
        Err(record::refusal(call, 0, Some(&answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_success_comes_back() {
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
        let answer =
            r#"{"Success":false,"Error":"The network was not found. ","ErrorCode":2151350273}"#;
        assert!(
            output("GET /networks/x", answer)
                .unwrap_err()
                .is_not_found()
        );
    }
}
