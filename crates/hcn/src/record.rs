//! The result of a call: a code and a JSON error record.

use serde_json::Value;

use crate::error::{HcnError, code};

/// A record with text is a failure even if the code means success; the record's message
/// and code are preferred.
#[cfg_attr(not(windows), allow(dead_code, reason = "used only on Windows"))]
pub(crate) fn outcome(call: &str, hresult: u32, record: Option<&str>) -> Result<(), HcnError> {
    let record = record.filter(|text| !text.trim().is_empty());
    if hresult & 0x8000_0000 == 0 && record.is_none() {
        return Ok(());
    }
    let record = record.map(|text| {
        serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    });
    Err(call_error(call, hresult, record.as_ref()))
}

pub(crate) fn call_error(call: &str, hresult: u32, record: Option<&Value>) -> HcnError {
    let failed = |code: &u32| code & 0x8000_0000 != 0;
    let recorded = record
        .and_then(|record| record.get("ErrorCode"))
        .and_then(number);
    let code = recorded
        .filter(failed)
        .or(Some(hresult).filter(failed))
        .unwrap_or(code::UNSPECIFIED);
    let text = record
        .and_then(|record| record.get("Error").unwrap_or(record).as_str())
        .map(str::trim)
        .filter(|text| !text.is_empty());
    HcnError::Refused {
        call: call.to_owned(),
        code,
        text: text.unwrap_or("no error message").to_owned(),
    }
}

/// HNS writes a code as an unsigned or signed number, or as text.
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => {
            let number = number.as_i64()?;
            u32::try_from(number)
                .or_else(|_| i32::try_from(number).map(i32::cast_unsigned))
                .ok()
        }
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_without_a_record_is_success() {
        assert!(outcome("X", 0, None).is_ok());
        assert!(outcome("X", 0, Some(" ")).is_ok());
    }

    #[test]
    fn a_record_with_text_is_a_failure_with_any_code() {
        let record = r#"{"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}"#;
        let error = outcome("X", 0, Some(record)).unwrap_err();
        assert!(error.is_not_found());
        assert_eq!(
            error.to_string(),
            "`X` failed: Element not found. (0x80070490)"
        );
    }

    #[test]
    fn a_code_without_a_record_is_kept() {
        let error = outcome("X", 0x803B_0001, None).unwrap_err();
        assert_eq!(error.hresult(), Some(0x803B_0001));
    }

    #[test]
    fn codes_are_parsed_in_every_format() {
        for code in ["2151350273", "-2143617023", "\"0x803B0001\""] {
            let record = format!(r#"{{"Error":"x","ErrorCode":{code}}}"#);
            let error = outcome("X", 0x8000_4005, Some(&record)).unwrap_err();
            assert_eq!(error.hresult(), Some(0x803B_0001), "{code}");
        }
    }

    #[test]
    fn a_record_that_is_not_json_is_the_message() {
        let error = outcome("X", 0x8000_4005, Some("oops")).unwrap_err();
        assert_eq!(error.to_string(), "`X` failed: oops (0x80004005)");
    }
}
