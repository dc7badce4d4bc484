//! The schema matches the reader.
//!
//! `BLESS=1 cargo test -p casement-source --test schema` updates
//! `docs/cluster.schema.json`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::Severity;
use casement_source::{Loaded, load, schema};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cluster files of a directory and its subdirectories, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let inner = path.join("cluster.yaml");
        if inner.is_file() {
            files.push(inner);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// All files without errors, as JSON.
fn valid_files() -> Vec<(PathBuf, Value)> {
    let mut good = Vec::new();
    for path in files("examples").into_iter().chain(files("scenarios")) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        if load("cluster.yaml", &text).cluster.is_some() {
            let text = text.trim_start_matches('\u{feff}');
            good.push((path, serde_saphyr::from_str(text).unwrap()));
        }
    }
    assert!(good.len() > 10);
    good
}

fn read(document: &Value) -> Loaded {
    load("cluster.json", &document.to_string())
}

#[test]
fn schema_accepts_valid_and_rejects_invalid_scenarios() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (path, document) in valid_files() {
        let errors: Vec<_> = validator.iter_errors(&document).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
    let mut rejected = 0;
    for path in files("scenarios") {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let loaded = load("cluster.yaml", &text);
        let structural = loaded.diagnostics.iter().any(|finding| {
            let code = finding.code.as_ref().map(ToString::to_string);
            let code = code.unwrap_or_default();
            ["CAS-SPEC-010", "CAS-SPEC-011", "CAS-SPEC-012"].contains(&code.as_str())
        });
        let Ok(document) = serde_saphyr::from_str::<Value>(&text) else {
            continue;
        };
        if structural {
            assert!(!validator.is_valid(&document), "{}", path.display());
            rejected += 1;
        }
    }
    assert!(rejected > 5, "only {rejected} scenarios are rejected");
}

#[test]
fn schema_file_is_current() {
    let path = root().join("docs/cluster.schema.json");
    casement_golden::assert_file(path, format!("{:#}\n", schema()));
}

#[test]
fn examples_refer_to_the_schema() {
    for path in files("examples") {
        let text = fs::read_to_string(&path).unwrap();
        let line = "# yaml-language-server: $schema=../docs/cluster.schema.json";
        assert_eq!(text.lines().next(), Some(line), "{}", path.display());
    }
}

/// Follows references to the definition of a value.
fn resolve<'s>(all: &'s Value, mut part: &'s Value) -> (Option<&'s str>, &'s Value) {
    let mut name = None;
    loop {
        let inner = part.get("allOf").map_or(part, |list| &list[0]);
        let Some(reference) = inner.get("$ref").and_then(Value::as_str) else {
            return (name, part);
        };
        let pointer = reference.trim_start_matches('#');
        name = pointer.rsplit('/').next();
        part = all.pointer(pointer).unwrap();
    }
}

/// Calls `visit` for every mapping of a document with its pointer, and name and schema
/// of its definition.
fn mappings<'s>(
    all: &'s Value,
    (part, value): (&'s Value, &Value),
    at: &str,
    visit: &mut dyn FnMut(&str, &'s str, &'s Value),
) {
    let (name, part) = resolve(all, part);
    for choice in part
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        mappings(all, (choice, value), at, visit);
    }
    match value {
        Value::Object(fields) => {
            if let Some(properties) = part.get("properties") {
                visit(at, name.unwrap_or("document"), part);
                for (key, value) in fields {
                    if let Some(part) = properties.get(key) {
                        mappings(all, (part, value), &format!("{at}/{key}"), visit);
                    }
                }
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                if let Some(part) = part.get("items") {
                    mappings(all, (part, value), &format!("{at}/{index}"), visit);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_is_used_in_a_scenario_and_decoded() {
    let all = schema();
    let mut missing: BTreeSet<(String, String)> = BTreeSet::new();
    let definitions = all["definitions"].as_object().unwrap();
    for (name, part) in definitions.iter().chain([(&"document".to_owned(), &all)]) {
        for field in part["properties"].as_object().unwrap().keys() {
            missing.insert((name.clone(), field.clone()));
        }
    }
    for (path, document) in valid_files() {
        let cluster = read(&document).cluster.unwrap();
        let normal = serde_json::to_value(&cluster).unwrap();
        mappings(&all, (&all, &document), "", &mut |at, name, _| {
            let fields = document.pointer(at).and_then(Value::as_object).unwrap();
            for field in fields.keys() {
                missing.remove(&(name.to_owned(), field.clone()));
                let pointer = format!("{at}/{field}");
                let kept = normal.pointer(&pointer).is_some();
                assert!(
                    kept,
                    "{}: {pointer} is missing in {normal:#}",
                    path.display()
                );
            }
        });
    }
    assert!(missing.is_empty(), "no scenario has {missing:?}");
}

#[test]
fn reader_rejects_what_the_schema_rejects() {
    let all = schema();
    let validator = jsonschema::validator_for(&all).unwrap();
    let mut seen = BTreeSet::new();
    let mut tried = 0;
    for (path, document) in valid_files() {
        let mut wrong = Vec::new();
        mappings(&all, (&all, &document), "", &mut |at, name, part| {
            let fields = document.pointer(at).and_then(Value::as_object).unwrap();
            if !seen.insert((name.to_owned(), fields.keys().cloned().collect::<Vec<_>>())) {
                return;
            }
            let mut change = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
                let mut other = document.clone();
                change(
                    other
                        .pointer_mut(at)
                        .and_then(Value::as_object_mut)
                        .unwrap(),
                );
                wrong.push(other);
            };
            change(&|fields| {
                fields.insert("zzz".to_owned(), json!(1));
            });
            for field in part["required"].as_array().into_iter().flatten() {
                change(&|fields| {
                    fields.remove(field.as_str().unwrap());
                });
            }
            for field in fields.keys() {
                for other in [json!([[[1]]]), json!({"zzz": {"zzz": [1]}}), json!(null)] {
                    change(&|fields| {
                        fields.insert(field.clone(), other.clone());
                    });
                }
            }
        });
        for document in wrong {
            assert!(
                !validator.is_valid(&document),
                "{}: {document:#}",
                path.display()
            );
            let loaded = read(&document);
            assert!(loaded.cluster.is_none(), "{}: {document:#}", path.display());
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried} were tried");
}

#[test]
fn reader_accepts_every_enum_value_of_the_schema() {
    let all = schema();
    let mut words = 0;
    for (path, document) in valid_files() {
        mappings(&all, (&all, &document), "", &mut |at, _, part| {
            for (field, part) in part["properties"].as_object().unwrap() {
                let pointer = format!("{at}/{field}");
                let Some(list) = part.get("enum").and_then(Value::as_array) else {
                    continue;
                };
                if document.pointer(&pointer).is_none() {
                    continue;
                }
                for (word, known) in list
                    .iter()
                    .map(|w| (w, true))
                    .chain([(&json!("zzz"), false)])
                {
                    let mut other = document.clone();
                    *other.pointer_mut(&pointer).unwrap() = word.clone();
                    let path_of = pointer.trim_start_matches('/').replace('/', ".");
                    let rejected = read(&other).diagnostics.into_iter().any(|finding| {
                        let code = finding.code.map(|code| code.to_string());
                        let here = finding.path.to_string().replace('[', ".").replace(']', "");
                        finding.severity == Severity::Error
                            && here == path_of
                            && code.as_deref() == Some("CAS-SPEC-013")
                    });
                    assert_eq!(rejected, !known, "{}: {pointer}: {word}", path.display());
                    words += 1;
                }
            }
        });
    }
    assert!(words > 100, "only {words} words were tried");
}
