//! Decodes request bodies into objects of their kind.

use serde_json::Value;

use super::kinds::Kind;
use super::status_error::StatusError;

/// Handling of unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// From the query parameter `fieldValidation`.
    pub(super) fn read(text: &str) -> Self {
        match text {
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            _ => Self::Warn,
        }
    }
}

pub(super) fn json(kind: &Kind, body: &[u8]) -> Result<Value, StatusError> {
    serde_json::from_slice(body).map_err(|error| {
        StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get \
             version/kind; json parse error: {error}",
            kind.kind
        ))
    })
}

/// The decoded object and warnings.
pub(super) fn object(
    kind: &Kind,
    body: Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), StatusError> {
    let text_or = |key: &str, default: &str| body[key].as_str().unwrap_or(default).to_owned();
    let declared = (
        text_or("kind", kind.kind),
        text_or("apiVersion", &kind.api_version()),
    );
    let (_, version) = declared.1.rsplit_once('/').unwrap_or(("", &declared.1));
    let rejected = |message: String| {
        StatusError::bad_request(format!(
            "{} in version \"{version}\" cannot be handled as a {}: {message}",
            declared.0, kind.kind
        ))
    };
    if declared != (kind.kind.to_owned(), kind.api_version()) {
        return Err(rejected("unknown conversion".to_owned()));
    }
    let decoded = kind
        .decode(body.clone())
        .map_err(|error| rejected(error.to_string()))?;
    let mut paths = Vec::new();
    if validation != FieldValidation::Ignore {
        collect_unknown(&body, &decoded, "", &mut paths);
    }
    let messages = paths
        .into_iter()
        .map(|path| format!("unknown field \"{path}\""));
    let messages: Vec<String> = messages.collect();
    if validation == FieldValidation::Strict && !messages.is_empty() {
        let list = messages.join(", ");
        return Err(rejected(format!("strict decoding error: {list}")));
    }
    let mut decoded = decoded;
    drop_empty(&mut decoded);
    Ok((decoded, messages))
}

/// Removes empty lists and maps, which equal absent ones. Empty structs are kept: their
/// presence can have a meaning.
fn drop_empty(value: &mut Value) {
    const MAPS: &[&str] = &[
        "allocatable",
        "annotations",
        "binaryData",
        "capacity",
        "data",
        "labels",
        "limits",
        "matchLabels",
        "nodeSelector",
        "requests",
    ];
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            drop_empty(value);
            match value {
                Value::Array(items) => !items.is_empty(),
                Value::Object(fields) => !fields.is_empty() || !MAPS.contains(&key.as_str()),
                _ => true,
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Decodes an applied configuration: adds nothing to the body, and rejects unknown fields.
pub(super) fn applied(kind: &Kind, body: Value) -> Result<Value, StatusError> {
    let (decoded, _) = object(kind, body.clone(), FieldValidation::Ignore)?;
    let mut unknown_fields = Vec::new();
    let full = kind.decode(body.clone()).unwrap_or_default();
    collect_unknown(&body, &full, "", &mut unknown_fields);
    match unknown_fields.first() {
        Some(field) => Err(StatusError::undeclared_field(kind, &body, field)),
        None => Ok(restrict_to(decoded, &body)),
    }
}

fn restrict_to(decoded: Value, body: &Value) -> Value {
    match (decoded, body) {
        (Value::Object(decoded), Value::Object(body)) => decoded
            .into_iter()
            .filter_map(|(key, value)| {
                let value = restrict_to(value, body.get(&key)?);
                Some((key, value))
            })
            .collect(),
        (Value::Array(decoded), Value::Array(body)) => decoded
            .into_iter()
            .zip(body)
            .map(|(value, body)| restrict_to(value, body))
            .collect(),
        (decoded, _) => decoded,
    }
}

fn collect_unknown(body: &Value, decoded: &Value, path: &str, paths: &mut Vec<String>) {
    match (body, decoded) {
        (Value::Object(body), Value::Object(decoded)) => {
            for (key, value) in body.iter().filter(|(_, value)| !value.is_null()) {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                match decoded.get(key) {
                    Some(decoded) => collect_unknown(value, decoded, &path, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(body), Value::Array(decoded)) => {
            for (index, (body, decoded)) in body.iter().zip(decoded).enumerate() {
                collect_unknown(body, decoded, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::by_name;
    use super::*;

    #[test]
    fn unknown_fields_are_warned_about_or_rejected_with_their_path() {
        let kind = by_name("DaemonSet").unwrap();
        let set = json!({"spec": {"template": {"spec": {"containers": [{"nome": "x"}]}}}});
        let path = "spec.template.spec.containers[0].nome";
        let (_, warnings) = object(kind, set.clone(), FieldValidation::Warn).unwrap();
        assert_eq!(warnings, [format!("unknown field \"{path}\"")]);
        let status_error = object(kind, set.clone(), FieldValidation::Strict).unwrap_err();
        assert_eq!(
            status_error.message,
            format!(
                "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strict decoding \
                 error: unknown field \"{path}\""
            )
        );
        let (_, warnings) = object(kind, set, FieldValidation::Ignore).unwrap();
        assert!(warnings.is_empty());
    }

    #[test]
    fn applied_configuration_gains_no_fields() {
        let kind = by_name("DaemonSet").unwrap();
        let body = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}},
        });
        assert_eq!(applied(kind, body.clone()).unwrap(), body);
    }
}
