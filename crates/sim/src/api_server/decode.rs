//! Bodies into objects of their kind.

use serde_json::Value;

use super::kinds::Kind;
use super::refusal::Refusal;

/// What becomes of fields that the kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Ignored,
    Warned,
    Refused,
}

impl Unknown {
    /// By the parameter `fieldValidation`.
    pub(super) fn read(text: &str) -> Self {
        match text {
            "Ignore" => Self::Ignored,
            "Strict" => Self::Refused,
            _ => Self::Warned,
        }
    }
}

/// Reads a body as JSON.
pub(super) fn json(kind: &Kind, body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get \
             version/kind; json parse error: {error}",
            kind.kind
        ))
    })
}

/// The object as its kind has it, and warnings.
pub(super) fn object(
    kind: &Kind,
    body: Value,
    unknown: Unknown,
) -> Result<(Value, Vec<String>), Refusal> {
    let called = |key: &str, own: &str| body[key].as_str().unwrap_or(own).to_owned();
    let said = (
        called("kind", kind.kind),
        called("apiVersion", &kind.api_version()),
    );
    let (_, version) = said.1.rsplit_once('/').unwrap_or(("", &said.1));
    let refused = |why: String| {
        Refusal::bad_request(format!(
            "{} in version \"{version}\" cannot be handled as a {}: {why}",
            said.0, kind.kind
        ))
    };
    if said != (kind.kind.to_owned(), kind.api_version()) {
        return Err(refused("unknown conversion".to_owned()));
    }
    let decoded = kind
        .decode(body.clone())
        .map_err(|error| refused(error.to_string()))?;
    let mut paths = Vec::new();
    if unknown != Unknown::Ignored {
        lost(&body, &decoded, "", &mut paths);
    }
    let told = paths
        .into_iter()
        .map(|path| format!("unknown field \"{path}\""));
    let told: Vec<String> = told.collect();
    if unknown == Unknown::Refused && !told.is_empty() {
        let told = told.join(", ");
        return Err(refused(format!("strict decoding error: {told}")));
    }
    let mut decoded = decoded;
    drop_empty(&mut decoded);
    Ok((decoded, told))
}

/// Empty lists and maps are the same as none. An empty object of fields is not: it
/// may say that something is there.
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

/// The same for a part of an object, as it is applied: nothing is added that the
/// body does not have, and what the kind does not have cannot be owned.
pub(super) fn part(kind: &Kind, body: Value) -> Result<Value, Refusal> {
    let (decoded, _) = object(kind, body.clone(), Unknown::Ignored)?;
    let mut undeclared = Vec::new();
    let whole = kind.decode(body.clone()).unwrap_or_default();
    lost(&body, &whole, "", &mut undeclared);
    match undeclared.first() {
        Some(field) => Err(Refusal::undeclared(kind, &body, field)),
        None => Ok(within(decoded, &body)),
    }
}

fn within(decoded: Value, body: &Value) -> Value {
    match (decoded, body) {
        (Value::Object(decoded), Value::Object(body)) => decoded
            .into_iter()
            .filter_map(|(key, value)| {
                let value = within(value, body.get(&key)?);
                Some((key, value))
            })
            .collect(),
        (Value::Array(decoded), Value::Array(body)) => decoded
            .into_iter()
            .zip(body)
            .map(|(value, body)| within(value, body))
            .collect(),
        (decoded, _) => decoded,
    }
}

fn lost(body: &Value, decoded: &Value, path: &str, paths: &mut Vec<String>) {
    match (body, decoded) {
        (Value::Object(body), Value::Object(decoded)) => {
            for (key, value) in body.iter().filter(|(_, value)| !value.is_null()) {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                match decoded.get(key) {
                    Some(decoded) => lost(value, decoded, &path, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(body), Value::Array(decoded)) => {
            for (at, (body, decoded)) in body.iter().zip(decoded).enumerate() {
                lost(body, decoded, &format!("{path}[{at}]"), paths);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::named;
    use super::*;

    #[test]
    fn unknown_fields_are_warned_of_or_refused_with_their_place() {
        let kind = named("DaemonSet").unwrap();
        let set = json!({"spec": {"template": {"spec": {"containers": [{"nome": "x"}]}}}});
        let path = "spec.template.spec.containers[0].nome";
        let (_, warnings) = object(kind, set.clone(), Unknown::Warned).unwrap();
        assert_eq!(warnings, [format!("unknown field \"{path}\"")]);
        let refusal = object(kind, set.clone(), Unknown::Refused).unwrap_err();
        assert_eq!(
            refusal.message,
            format!(
                "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strict decoding \
                 error: unknown field \"{path}\""
            )
        );
        let (_, warnings) = object(kind, set, Unknown::Ignored).unwrap();
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_part_holds_no_more_than_was_said() {
        let kind = named("DaemonSet").unwrap();
        let body = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}},
        });
        assert_eq!(part(kind, body.clone()).unwrap(), body);
    }
}
