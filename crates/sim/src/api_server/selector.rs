//! Label and field selectors.

use serde_json::Value;

use super::kinds::Kind;
use super::refusal::Refusal;

/// What an object must be like to be meant.
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
    /// Reads both; an empty text asks for nothing.
    pub(super) fn read(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Refusal> {
        let mut selector = Self {
            labels: requirements(labels)?,
            fields: Vec::new(),
        };
        for part in fields.split(',').filter(|part| !part.is_empty()) {
            let (field, equal, value) = equation(part).ok_or_else(|| {
                Refusal::bad_request(format!(
                    "invalid selector: '{part}'; can't understand '{part}'"
                ))
            })?;
            let known = ["metadata.name", "metadata.namespace"];
            if !known.contains(&field) && !kind.fields.contains(&field) {
                let message = format!("field label not supported: {field}");
                return Err(Refusal::bad_request(message));
            }
            selector
                .fields
                .push((field.to_owned(), equal, value.to_owned()));
        }
        Ok(selector)
    }

    /// The one name that is meant, if the selector says so.
    pub(super) fn name(&self) -> Option<&str> {
        let mut named = self.fields.iter();
        named
            .find(|(field, equal, _)| field == "metadata.name" && *equal)
            .map(|(_, _, name)| name.as_str())
    }

    pub(super) fn fits(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels
            .iter()
            .all(|requirement| requirement.fits(labels))
            && self
                .fields
                .iter()
                .all(|(field, equal, wanted)| (text_of(object, field) == *wanted) == *equal)
    }
}

impl Requirement {
    fn fits(&self, labels: &Value) -> bool {
        let held = |key: &str| labels.get(key).and_then(Value::as_str);
        match self {
            Self::Exists(key) => held(key).is_some(),
            Self::Absent(key) => held(key).is_none(),
            Self::In(key, values) => held(key).is_some_and(|held| values.iter().any(|v| v == held)),
            Self::NotIn(key, values) => {
                !held(key).is_some_and(|held| values.iter().any(|v| v == held))
            }
        }
    }
}

/// A field as a field selector sees it; what is absent is empty or false.
fn text_of(object: &Value, field: &str) -> String {
    let pointer = format!("/{}", field.replace('.', "/"));
    match object.pointer(&pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(yes)) => yes.to_string(),
        _ if field == "spec.unschedulable" => "false".to_owned(),
        _ => String::new(),
    }
}

fn equation(text: &str) -> Option<(&str, bool, &str)> {
    let (left, equal, right) = match text.split_once("!=") {
        Some((left, right)) => (left, false, right),
        None => {
            let (left, right) = text.split_once("==").or_else(|| text.split_once('='))?;
            (left, true, right)
        }
    };
    Some((left.trim(), equal, right.trim()))
}

fn requirements(text: &str) -> Result<Vec<Requirement>, Refusal> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        // A comma inside parentheses belongs to the set.
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
        found.push(requirement(part.trim())?);
        rest = after.trim_start_matches(',').trim();
    }
    Ok(found)
}

fn requirement(part: &str) -> Result<Requirement, Refusal> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::Absent(key.trim().to_owned()));
    }
    if let Some((key, equal, value)) = equation(part) {
        let values = vec![value.to_owned()];
        return Ok(match equal {
            true => Requirement::In(key.to_owned(), values),
            false => Requirement::NotIn(key.to_owned(), values),
        });
    }
    let mut words = part.splitn(2, char::is_whitespace);
    let key = words.next().unwrap_or_default().to_owned();
    let Some(rest) = words.next().map(str::trim) else {
        return Ok(Requirement::Exists(key));
    };
    let set = |word: &str| {
        let list = rest.strip_prefix(word)?.trim();
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
            let word = rest.split_whitespace().next().unwrap_or_default();
            Err(Refusal::bad_request(format!(
                "unable to parse requirement: found '{word}', expected: in, notin, =, ==, !=, gt, lt"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::named;
    use super::*;

    fn fits(labels: &str, fields: &str) -> bool {
        let object = json!({
            "metadata": {"name": "p", "labels": {"a": "1", "b": ""}},
            "spec": {"nodeName": "n"},
        });
        let kind = named("Pod").unwrap();
        Selector::read(kind, labels, fields).unwrap().fits(&object)
    }

    #[test]
    fn labels_are_selected_by_equality_sets_and_presence() {
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
            assert!(fits(yes, ""), "{yes}");
        }
        for no in ["c", "a=2", "!a", "a notin (1)", "a in (2)", "a=1,c", "b=x"] {
            assert!(!fits(no, ""), "{no}");
        }
    }

    #[test]
    fn fields_are_selected_by_equality() {
        assert!(fits("", "spec.nodeName=n,metadata.name=p"));
        assert!(fits("", "status.phase!=Succeeded"));
        assert!(!fits("", "spec.nodeName=m"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_kubernetes_words() {
        let kind = named("Node").unwrap();
        let told = |labels, fields| Selector::read(kind, labels, fields).unwrap_err().message;
        assert_eq!(
            told("", "spec.foo=1"),
            "field label not supported: spec.foo"
        );
        assert!(told("a foo", "").starts_with("unable to parse requirement: found 'foo'"));
    }
}
