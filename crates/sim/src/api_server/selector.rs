//! Label and field selectors.

use serde_json::Value;

use super::kinds::Kind;
use super::status_error::StatusError;

#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl Selector {
    /// Parses both; an empty text selects everything.
    pub(super) fn read(kind: &Kind, labels: &str, fields: &str) -> Result<Self, StatusError> {
        let mut selector = Self {
            labels: parse_requirements(labels)?,
            fields: Vec::new(),
        };
        for part in fields.split(',').filter(|part| !part.is_empty()) {
            let (field, equal, value) = parse_comparison(part).ok_or_else(|| {
                StatusError::bad_request(format!(
                    "invalid selector: '{part}'; can't understand '{part}'"
                ))
            })?;
            let always_supported = ["metadata.name", "metadata.namespace"];
            if !always_supported.contains(&field) && !kind.fields.contains(&field) {
                let message = format!("field label not supported: {field}");
                return Err(StatusError::bad_request(message));
            }
            selector
                .fields
                .push((field.to_owned(), equal, value.to_owned()));
        }
        Ok(selector)
    }

    /// The name, if the selector requires exactly one.
    pub(super) fn name(&self) -> Option<&str> {
        let mut named = self.fields.iter();
        named
            .find(|(field, equal, _)| field == "metadata.name" && *equal)
            .map(|(_, _, name)| name.as_str())
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels
            .iter()
            .all(|requirement| requirement.matches(labels))
            && self
                .fields
                .iter()
                .all(|(field, equal, expected)| (field_text(object, field) == *expected) == *equal)
    }
}

impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let value = |key: &str| labels.get(key).and_then(Value::as_str);
        match self {
            Self::Exists(key) => value(key).is_some(),
            Self::Absent(key) => value(key).is_none(),
            Self::In(key, values) => {
                value(key).is_some_and(|value| values.iter().any(|v| v == value))
            }
            Self::NotIn(key, values) => {
                !value(key).is_some_and(|value| values.iter().any(|v| v == value))
            }
        }
    }
}

/// A field's text for comparison; an absent field is empty or `false`.
fn field_text(object: &Value, field: &str) -> String {
    let pointer = format!("/{}", field.replace('.', "/"));
    match object.pointer(&pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(yes)) => yes.to_string(),
        _ if field == "spec.unschedulable" => "false".to_owned(),
        _ => String::new(),
    }
}

fn parse_comparison(text: &str) -> Option<(&str, bool, &str)> {
    let (left, equal, right) = match text.split_once("!=") {
        Some((left, right)) => (left, false, right),
        None => {
            let (left, right) = text.split_once("==").or_else(|| text.split_once('='))?;
            (left, true, right)
        }
    };
    Some((left.trim(), equal, right.trim()))
}

fn parse_requirements(text: &str) -> Result<Vec<Requirement>, StatusError> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        // A comma inside parentheses separates values of a set.
        let mut depth = 0;
        let end = rest.find(|character| {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            character == ',' && depth == 0
        });
        let (part, after) = match end {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        found.push(parse_requirement(part.trim())?);
        rest = after.trim_start_matches(',').trim();
    }
    Ok(found)
}

fn parse_requirement(part: &str) -> Result<Requirement, StatusError> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::Absent(key.trim().to_owned()));
    }
    if let Some((key, equal, value)) = parse_comparison(part) {
        let values = vec![value.to_owned()];
        return Ok(match equal {
            true => Requirement::In(key.to_owned(), values),
            false => Requirement::NotIn(key.to_owned(), values),
        });
    }
    let mut tokens = part.splitn(2, char::is_whitespace);
    let key = tokens.next().unwrap_or_default().to_owned();
    let Some(rest) = tokens.next().map(str::trim) else {
        return Ok(Requirement::Exists(key));
    };
    let set = |operator: &str| {
        let list = rest.strip_prefix(operator)?.trim();
        let list = list.strip_prefix('(')?.strip_suffix(')')?;
        Some(
            list.split(',')
                .map(|value| value.trim().to_owned())
                .collect(),
        )
    };
    match (set("in"), set("notin")) {
        (Some(values), _) => Ok(Requirement::In(key, values)),
        (_, Some(values)) => Ok(Requirement::NotIn(key, values)),
        _ => {
            let token = rest.split_whitespace().next().unwrap_or_default();
            Err(StatusError::bad_request(format!(
                "unable to parse requirement: found '{token}', expected: in, notin, =, ==, !=, gt, lt"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::by_name;
    use super::*;

    fn matches(labels: &str, fields: &str) -> bool {
        let object = json!({
            "metadata": {"name": "p", "labels": {"a": "1", "b": ""}},
            "spec": {"nodeName": "n"},
        });
        let kind = by_name("Pod").unwrap();
        Selector::read(kind, labels, fields)
            .unwrap()
            .matches(&object)
    }

    #[test]
    fn labels_match_by_equality_sets_and_presence() {
        for yes in [
            "",
            "a",
            "a=1",
            "a==1,b=",
            "a in (0, 1),!c",
            "c notin (x)",
            "a!=2",
            "c!=1",
        ] {
            assert!(matches(yes, ""), "{yes}");
        }
        for no in ["c", "a=2", "!a", "a notin (1)", "a in (2)", "a=1,c", "b=x"] {
            assert!(!matches(no, ""), "{no}");
        }
    }

    #[test]
    fn fields_match_by_equality() {
        assert!(matches("", "spec.nodeName=n,metadata.name=p"));
        assert!(matches("", "status.phase!=Succeeded"));
        assert!(!matches("", "spec.nodeName=m"));
    }

    #[test]
    fn invalid_selectors_get_kubernetes_errors() {
        let kind = by_name("Node").unwrap();
        let error = |labels, fields| Selector::read(kind, labels, fields).unwrap_err().message;
        assert_eq!(
            error("", "spec.foo=1"),
            "field label not supported: spec.foo"
        );
        assert!(error("a foo", "").starts_with("unable to parse requirement: found 'foo'"));
    }
}
