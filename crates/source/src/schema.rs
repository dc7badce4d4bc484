//! The JSON Schema of the document, for editors.
//!
//! Made from the table that the reader reads by. It knows fields, words and
//! bounds; what a text must look like is the reader's own knowledge.

use serde_json::{Map, Value, json};

use crate::shape::{Field, Kind, Need, Shape};
use crate::shapes;

/// Where the schema is found by those who do not have the file.
pub const SCHEMA_ID: &str = "https://casement.dev/cluster.schema.json";

/// The schema; draft 7, which editors know best.
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
        schema.insert("title".to_owned(), json!("A cluster for casement"));
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
    // Draft 7 allows an empty list here, draft 4 does not: say nothing instead.
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(field: &Field) -> Value {
    let mut schema = kind(&field.kind);
    // Beside a `$ref`, draft 7 reads nothing else.
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
        // A text may look like a number to YAML: the reader takes it as written.
        Kind::Text => json!({"type": ["string", "number", "boolean"]}),
        Kind::Word(words) => json!({"enum": words()}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Number(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
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
        Kind::Own(values) => json!({"type": "object", "additionalProperties": kind(values)}),
        Kind::Known(names, values) => {
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
    fn the_table_lists_every_mapping_once() {
        let mut ids = BTreeSet::new();
        reachable(&shapes::DOCUMENT, &mut ids);
        let listed: Vec<_> = shapes::ALL.iter().map(|shape| shape.id).collect();
        assert_eq!(listed.len(), ids.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), ids);
    }

    #[test]
    fn every_field_is_in_the_schema_with_a_sentence() {
        let schema = schema();
        for shape in shapes::ALL {
            let place = match shape.id {
                "document" => "/properties".to_owned(),
                id => format!("/definitions/{id}/properties"),
            };
            let properties = schema.pointer(&place).and_then(Value::as_object).unwrap();
            assert_eq!(properties.len(), shape.fields.len(), "{place}");
            for field in shape.fields {
                let about = properties
                    .get(field.name)
                    .and_then(|p| p.get("description"));
                assert_eq!(about, Some(&json!(field.about)), "{place} {}", field.name);
                assert!(field.about.ends_with('.'), "{}", field.about);
            }
        }
    }
}
