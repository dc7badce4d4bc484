//! The JSON Schema of the cluster file, for editors.
//!
//! Generated from the tables of the reader. It covers fields, enumerations and
//! limits; only the reader checks the format of strings.

use serde_json::{Map, Value, json};

use crate::shape::{Field, Kind, Need, Shape};
use crate::shapes;

pub const SCHEMA_ID: &str = "https://casement.dev/cluster.schema.json";

/// Draft 7, which editors support best.
pub fn schema() -> Value {
    let parts = shapes::ALL
        .iter()
        .filter(|shape| shape.id != shapes::DOCUMENT.id)
        .map(|shape| (shape.id.to_owned(), mapping(shape)));
    let mut schema = mapping(&shapes::DOCUMENT);
    if let Value::Object(schema) = &mut schema {
        schema.insert(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
        schema.insert("$id".to_owned(), json!(SCHEMA_ID));
        schema.insert("title".to_owned(), json!("casement cluster"));
        schema.insert("definitions".to_owned(), Value::Object(parts.collect()));
    }
    schema
}

fn mapping(shape: &Shape) -> Value {
    let properties: Map<String, Value> = shape
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field)))
        .collect();
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| matches!(field.need, Need::Required(_)))
        .map(|field| field.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    // Draft 4 does not allow an empty list.
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(field: &Field) -> Value {
    let mut schema = kind(&field.kind);
    // Draft 7 ignores keywords next to `$ref`.
    if let Some(reference) = schema.get("$ref").cloned() {
        schema = json!({"allOf": [{"$ref": reference}]});
    }
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(field.about));
        if let Need::Required(example) = field.need
            && let Some((_, value)) = example.split_once(": ")
            && !value.starts_with(['[', '{'])
        {
            schema.insert("examples".to_owned(), json!([value]));
        }
    }
    schema
}

fn reference(shape: &Shape) -> Value {
    json!({"$ref": format!("#/definitions/{}", shape.id)})
}

fn kind(of: &Kind) -> Value {
    match of {
        // The reader takes scalars as strings, even if YAML sees a number.
        Kind::Text => json!({"type": ["string", "number", "boolean"]}),
        Kind::Word(words) => json!({"enum": words()}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Number(min, max) => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Kind::Mapping(shape) => reference(shape),
        Kind::OneOf(shape) => json!({
            "allOf": [reference(shape)],
            "minProperties": 1,
            "maxProperties": 1,
        }),
        Kind::List(items) => json!({"type": "array", "items": kind(items)}),
        Kind::OneOrList(items) => {
            let item = kind(items);
            json!({"anyOf": [item, {"type": "array", "items": item}]})
        }
        Kind::UserKeys(values) => json!({"type": "object", "additionalProperties": kind(values)}),
        Kind::KnownKeys(names, values) => {
            let value = kind(values);
            let names = names()
                .into_iter()
                .map(|name| (name.to_owned(), value.clone()));
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": names.collect::<Map<_, _>>(),
            })
        }
        Kind::Either(one, other) => json!({"anyOf": [kind(one), kind(other)]}),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn reachable(shape: &'static Shape, into: &mut BTreeSet<&'static str>) {
        if !into.insert(shape.id) {
            return;
        }
        for inner in shape.fields.iter().flat_map(|field| field.kind.shapes()) {
            reachable(inner, into);
        }
    }

    #[test]
    fn all_shapes_are_listed_once() {
        let mut ids = BTreeSet::new();
        reachable(&shapes::DOCUMENT, &mut ids);
        let listed: Vec<_> = shapes::ALL.iter().map(|shape| shape.id).collect();
        assert_eq!(listed.len(), ids.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), ids);
    }

    #[test]
    fn every_field_has_a_description_in_the_schema() {
        let schema = schema();
        for shape in shapes::ALL {
            let pointer = match shape.id {
                "document" => "/properties".to_owned(),
                id => format!("/definitions/{id}/properties"),
            };
            let properties = schema.pointer(&pointer).and_then(Value::as_object).unwrap();
            assert_eq!(properties.len(), shape.fields.len(), "{pointer}");
            for field in shape.fields {
                let about = properties
                    .get(field.name)
                    .and_then(|p| p.get("description"));
                assert_eq!(about, Some(&json!(field.about)), "{pointer} {}", field.name);
                assert!(field.about.ends_with('.'), "{}", field.about);
            }
        }
    }
}
