//! Diagnostics as SARIF 2.1.0, for code hosting services and editors.
//!
//! Columns count characters (`columnKind`), paths become relative URIs.

use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Fix, Severity};
use crate::path::{FieldPath, Part};
use crate::source::{Position, Sources, clamp};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Debug, Clone, Copy)]
pub struct SarifRule<'a> {
    pub code: &'a str,
    pub title: &'a str,
    pub page: &'a str,
    /// Markdown.
    pub severity: Severity,
}

pub fn sarif(
    diagnostics: &[Diagnostic],
    sources: Sources<'_>,
    rules: &[SarifRule<'_>],
    version: &str,
) -> Value {
    let results: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| result(diagnostic, sources, rules))
        .collect();
    let rules: Vec<_> = rules.iter().map(described).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "casement", "version": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn described(rule: &SarifRule<'_>) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(diagnostic: &Diagnostic, sources: Sources<'_>, rules: &[SarifRule<'_>]) -> Value {
    let own = diagnostic.file.as_deref();
    let mut text = diagnostic.message.clone();
    for note in &diagnostic.notes {
        text += &format!("\n{note}");
    }
    if let Some(help) = &diagnostic.help {
        text += &format!("\n{help}");
    }
    let mut value = json!({
        "level": level(diagnostic.severity),
        "message": {"text": text},
        "locations": [location(sources, own, &diagnostic.path, &diagnostic.part)],
    });
    let mut put = |key: &str, item: Value| {
        if let Some(object) = value.as_object_mut() {
            object.insert(key.to_owned(), item);
        }
    };
    if let Some(code) = &diagnostic.code {
        put("ruleId", code.as_str().into());
        if let Some(index) = rules.iter().position(|rule| rule.code == code.as_str()) {
            put("ruleIndex", index.into());
        }
    }
    let related: Vec<_> = diagnostic
        .labels
        .iter()
        .map(|label| {
            let file = label.file.as_deref().or(own);
            let mut place = location(sources, file, &label.path, &label.part);
            if let Some(place) = place.as_object_mut() {
                place.insert("message".to_owned(), json!({"text": label.text}));
            }
            place
        })
        .collect();
    if !related.is_empty() {
        put("relatedLocations", related.into());
    }
    let fix = diagnostic.fix.as_ref();
    if let Some(fix) = fix.and_then(|fix| self::fix(fix, own, sources)) {
        put("fixes", json!([fix]));
    }
    value
}

fn location(sources: Sources<'_>, file: Option<&str>, path: &FieldPath, part: &Part) -> Value {
    let name = path.to_string();
    let logical = json!([{"fullyQualifiedName": name}]);
    let mut place = json!({});
    if let Some(physical) = physical(sources, file, path, part) {
        place = json!({"physicalLocation": physical});
    }
    if let Some(place) = place.as_object_mut().filter(|_| !name.is_empty()) {
        place.insert("logicalLocations".to_owned(), logical);
    }
    place
}

fn physical(
    sources: Sources<'_>,
    file: Option<&str>,
    path: &FieldPath,
    part: &Part,
) -> Option<Value> {
    let source = sources.get(file)?;
    let mut value = json!({"artifactLocation": {"uri": uri(source.name())}});
    if let (Some(region), Some(object)) = (region(sources, file, path, part), value.as_object_mut())
    {
        object.insert("region".to_owned(), region);
    }
    Some(value)
}

fn region(
    sources: Sources<'_>,
    file: Option<&str>,
    path: &FieldPath,
    part: &Part,
) -> Option<Value> {
    let source = sources.get(file)?;
    let range = clamp(source.text(), source.range(path, part)?);
    let start = Position::of(source.text(), range.start);
    let end = Position::of(source.text(), range.end);
    Some(json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }))
}

/// `None` if an edit has no location: a partial fix is worse than none.
fn fix(fix: &Fix, own: Option<&str>, sources: Sources<'_>) -> Option<Value> {
    let changes: Option<Vec<_>> = fix
        .edits
        .iter()
        .map(|edit| {
            let file = edit.file.as_deref().or(own);
            let region = region(sources, file, &edit.path, &edit.part)?;
            Some(json!({
                "artifactLocation": {"uri": uri(sources.get(file)?.name())},
                "replacements": [{
                    "deletedRegion": region,
                    "insertedContent": {"text": edit.replacement},
                }],
            }))
        })
        .collect();
    Some(json!({"description": {"text": fix.title}, "artifactChanges": changes?}))
}

/// A file name as a URI reference, percent-encoded.
fn uri(name: &str) -> String {
    let mut uri = String::new();
    for byte in name.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}
