//! Diagnostics as JSON.

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::path::{FieldPath, Part};
use crate::source::{Position, Source, Sources, clamp};

/// An array of objects with the fields of [`Diagnostic`]. With a source, diagnostics
/// and labels also have a `location` with file, line and column.
pub fn json(diagnostics: &[Diagnostic], source: Option<&dyn Source>) -> Value {
    json_with_sources(diagnostics, Sources::new(source.as_slice()))
}

pub fn json_with_sources(diagnostics: &[Diagnostic], sources: Sources<'_>) -> Value {
    diagnostics
        .iter()
        .map(|diagnostic| object(diagnostic, sources))
        .collect()
}

fn object(diagnostic: &Diagnostic, sources: Sources<'_>) -> Value {
    // Strings, lists and numbers only: serialization cannot fail.
    let mut value = serde_json::to_value(diagnostic).unwrap_or_default();
    let own = diagnostic.file.as_deref();
    let location = |file: Option<&str>, path, part| location(sources.get(file)?, path, part);
    if let Some(location) = location(own, &diagnostic.path, &diagnostic.part) {
        insert(&mut value, location);
    }
    let labels = value.get_mut("labels").and_then(Value::as_array_mut);
    for (value, label) in labels.into_iter().flatten().zip(&diagnostic.labels) {
        if let Some(location) = location(label.file.as_deref().or(own), &label.path, &label.part) {
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
