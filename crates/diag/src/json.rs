//! Findings for a program.

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::path::{FieldPath, Part};
use crate::source::{Position, Source, clamp};

/// A list of objects with the fields of [`Diagnostic`]; where there is a source,
/// the finding and its labels also have a `location` of file, line and column.
pub fn json(diagnostics: &[Diagnostic], source: Option<&dyn Source>) -> Value {
    diagnostics
        .iter()
        .map(|diagnostic| object(diagnostic, source))
        .collect()
}

fn object(diagnostic: &Diagnostic, source: Option<&dyn Source>) -> Value {
    // Strings, lists and numbers only: nothing in it can fail to serialise.
    let mut value = serde_json::to_value(diagnostic).unwrap_or_default();
    let Some(source) = source else { return value };
    if let Some(location) = location(source, &diagnostic.path, &diagnostic.part) {
        insert(&mut value, location);
    }
    let labels = value.get_mut("labels").and_then(Value::as_array_mut);
    for (value, label) in labels.into_iter().flatten().zip(&diagnostic.labels) {
        if let Some(location) = location(source, &label.path, &label.part) {
            insert(value, location);
        }
    }
    value
}

fn insert(object: &mut Value, location: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert("location".to_owned(), location);
    }
}

fn location(source: &dyn Source, path: &FieldPath, part: &Part) -> Option<Value> {
    let range = clamp(source.text(), source.range(path, part)?);
    let start = Position::of(source.text(), range.start);
    let end = Position::of(source.text(), range.end);
    Some(json!({
        "file": source.name(),
        "line": start.line,
        "column": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }))
}
