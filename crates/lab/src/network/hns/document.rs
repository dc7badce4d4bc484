//! Reads fields of JSON documents.
//!
//! Go, PowerShell and C++ callers differ in the case of field names and in whether an
//! enumeration is a number or a string. HNS accepts all variants, and so do these
//! functions.

use lab_wire::Failure;
use serde_json::Value;

use super::failure;

/// Empty text means an empty object.
pub fn parse(text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).map_err(|_| failure::invalid_json())
}

/// Case-insensitive lookup; `null` counts as missing.
pub fn field<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let object = document.as_object()?;
    object
        .get(name)
        .or_else(|| {
            object
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        })
        .filter(|value| !value.is_null())
}

/// An empty string counts as missing.
pub fn text(document: &Value, name: &str) -> Option<String> {
    field(document, name)?
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// A number or a string with a number.
pub fn number(document: &Value, name: &str) -> Option<u64> {
    match field(document, name)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub fn number32(document: &Value, name: &str) -> Option<u32> {
    number(document, name).and_then(|number| u32::try_from(number).ok())
}

/// A missing list counts as empty.
pub fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    field(document, name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Skips elements that are not strings.
pub fn texts(document: &Value, name: &str) -> Vec<String> {
    list(document, name)
        .iter()
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}

pub fn flag(document: &Value, name: &str) -> bool {
    field(document, name).and_then(Value::as_bool) == Some(true)
}

/// The field `Protocol`, a number or a name.
pub fn protocol(document: &Value) -> u32 {
    let name = text(document, "Protocol").map(|name| name.to_ascii_lowercase());
    match name.as_deref() {
        Some("tcp") => 6,
        Some("udp") => 17,
        _ => number32(document, "Protocol").unwrap_or(0),
    }
}

/// The major version of the schema; documents without one are v1.
pub fn schema_major(document: &Value) -> Option<u64> {
    number(field(document, "SchemaVersion")?, "Major")
}
