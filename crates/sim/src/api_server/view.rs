//! The representation that a client requests with `Accept`.

use serde_json::{Value, json};

use super::kinds::Kind;
use super::status_error::StatusError;
use super::table::{self, Include};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Object,
    Table(Include),
    Partial,
}

impl View {
    /// The first supported representation in `Accept`.
    pub(super) fn read(accept: &str, include: &str) -> Result<Self, StatusError> {
        if accept.trim().is_empty() {
            return Ok(Self::Object);
        }
        let found = accept.split(',').find_map(|media| {
            let mut parts = media.split(';').map(str::trim);
            let kind = parts.next()?;
            if !["application/json", "application/*", "*/*"].contains(&kind) {
                return None;
            }
            match parts.find_map(|part| part.strip_prefix("as=")) {
                Some("Table") => Some(Self::Table(Include::read(include))),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Self::Partial),
                Some(_) => None,
                None => Some(Self::Object),
            }
        });
        found.ok_or_else(StatusError::not_acceptable)
    }

    pub(super) fn one(self, kind: &Kind, object: &Value) -> Value {
        match self {
            Self::Object => object.clone(),
            Self::Partial => table::partial(object),
            Self::Table(include) => {
                let version = object["metadata"]["resourceVersion"].clone();
                table::table(kind, [object], json!({"resourceVersion": version}), include)
            }
        }
    }

    pub(super) fn list(self, kind: &Kind, objects: &[&Value], metadata: Value) -> Value {
        match self {
            Self::Object => {
                let items: Vec<Value> = objects.iter().map(|object| untyped(object)).collect();
                json!({
                    "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(),
                    "metadata": metadata, "items": items,
                })
            }
            Self::Partial => {
                let items: Vec<Value> = objects
                    .iter()
                    .map(|object| table::partial(object))
                    .collect();
                json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata, "items": items,
                })
            }
            Self::Table(include) => table::table(kind, objects.iter().copied(), metadata, include),
        }
    }

    pub(super) fn bookmark(self, object: Value) -> Value {
        match self {
            Self::Object => object,
            Self::Partial => table::partial(&object),
            Self::Table(_) => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
                "columnDefinitions": [], "rows": [],
            }),
        }
    }
}

/// List items have no `apiVersion` and `kind`.
fn untyped(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_supported_representation_is_used() {
        let read = |accept| View::read(accept, "");
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(read(table), Ok(View::Table(Include::Metadata)));
        assert_eq!(read(""), Ok(View::Object));
        assert_eq!(read("*/*"), Ok(View::Object));
        let protobuf_first = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(read(protobuf_first), Ok(View::Object));
        assert!(read("application/vnd.kubernetes.protobuf").is_err());
        let aggregated_discovery =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert!(read(aggregated_discovery).is_err());
    }
}
