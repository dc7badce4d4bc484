//! Queries that select objects.

use lab_wire::Failure;
use serde_json::Value;

use super::document;
use super::model::{Endpoint, LoadBalancer, Namespace, Network, SdnRoute};

/// A query: `{"SchemaVersion":…, "Flags":…, "Filter":"<JSON as text>"}`.
#[derive(Debug)]
pub struct Query {
    /// Whether to return v1 documents.
    pub v1: bool,
    filter: Vec<(String, String)>,
}

pub trait Findable {
    /// Lower case.
    fn id(&self) -> &str;
    /// A field for filters other than the id; `None` if the object does not have it.
    fn property(&self, name: &str) -> Option<&str>;
}

impl Query {
    /// Empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let query = document::parse(text)?;
        let filter = document::parse(&document::text(&query, "Filter").unwrap_or_default())?;
        let fields = filter.as_object().into_iter().flatten();
        Ok(Self {
            v1: document::schema_major(&query) == Some(1),
            filter: fields
                .map(|(name, value)| (name.clone(), as_text(value)))
                .collect(),
        })
    }

    /// An empty id in the filter matches nothing; kube-proxy and CNI plugins regularly
    /// send one.
    pub fn matching_ids<'a, T: Findable>(&self, objects: &'a [T]) -> Vec<&'a str> {
        objects
            .iter()
            .filter(|object| {
                self.filter
                    .iter()
                    .all(|(name, value)| matches(*object, name, value))
            })
            .map(Findable::id)
            .collect()
    }
}

fn as_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn matches(object: &impl Findable, name: &str, value: &str) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "id" => object.id().eq_ignore_ascii_case(value),
        "virtualnetwork" | "hostcomputenetwork" => object
            .property("network")
            .is_some_and(|id| id.eq_ignore_ascii_case(value)),
        other => object.property(other) == Some(value),
    }
}

impl Findable for Network {
    fn id(&self) -> &str {
        &self.id
    }

    fn property(&self, name: &str) -> Option<&str> {
        match name {
            "name" => Some(&self.name),
            "type" => Some(self.kind.name()),
            _ => None,
        }
    }
}

impl Findable for Endpoint {
    fn id(&self) -> &str {
        &self.id
    }

    fn property(&self, name: &str) -> Option<&str> {
        match name {
            "name" => Some(&self.name),
            "network" => Some(&self.network),
            "hostcomputenamespace" => self.namespace.as_deref(),
            _ => None,
        }
    }
}

impl Findable for Namespace {
    fn id(&self) -> &str {
        &self.id
    }

    fn property(&self, name: &str) -> Option<&str> {
        (name == "type").then_some(self.kind.as_str())
    }
}

impl Findable for LoadBalancer {
    fn id(&self) -> &str {
        &self.id
    }

    fn property(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Findable for SdnRoute {
    fn id(&self) -> &str {
        &self.id
    }

    fn property(&self, _: &str) -> Option<&str> {
        None
    }
}
