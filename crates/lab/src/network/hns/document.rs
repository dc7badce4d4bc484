//! Reading the documents that callers send.
//!
//! Go, PowerShell and C++ callers disagree on the case of field names and on
//! whether an enumeration is a number or a word; HNS takes them all, and so do
//! these readers.

use lab_wire::Failure;
use serde_json::Value;

use super::failure;

/// Parses a document; empty text stands for an empty object.
pub fn parse(text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).map_err(|_| failure::invalid_json())
}

/// A field by name, in any case.
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

/// A text field; absent and empty are the same.
pub fn text(document: &Value, name: &str) -> Option<String> {
    field(document, name)?
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// A number, also one written as text.
pub fn number(document: &Value, name: &str) -> Option<u64> {
    match field(document, name)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A number that fits into 32 bits.
pub fn number32(document: &Value, name: &str) -> Option<u32> {
    number(document, name).and_then(|number| u32::try_from(number).ok())
}

/// A list; absent and empty are the same.
pub fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    field(document, name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A list of texts; other things in it are left out.
pub fn texts(document: &Value, name: &str) -> Vec<String> {
    list(document, name)
        .iter()
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}

/// True only for `true`.
pub fn flag(document: &Value, name: &str) -> bool {
    field(document, name).and_then(Value::as_bool) == Some(true)
}

/// An IP protocol as number or word.
pub fn protocol(document: &Value) -> u32 {
    let word = text(document, "Protocol").map(|word| word.to_ascii_lowercase());
    match word.as_deref() {
        Some("tcp") => 6,
        Some("udp") => 17,
        _ => number32(document, "Protocol").unwrap_or(0),
    }
}

/// The schema's major version; documents without one are of the first
/// generation.
pub fn schema_major(document: &Value) -> Option<u64> {
    number(field(document, "SchemaVersion")?, "Major")
}
