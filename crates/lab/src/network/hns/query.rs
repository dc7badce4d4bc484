//! Which objects a caller wants to see.

use lab_wire::Failure;
use serde_json::Value;

use super::document;
use super::model::{Endpoint, LoadBalancer, Namespace, Network, SdnRoute};

/// A query: `{"SchemaVersion":…, "Flags":…, "Filter":"<JSON as text>"}`.
#[derive(Debug)]
pub struct Query {
    /// Answer in the first generation's form.
    pub first_generation: bool,
    filter: Vec<(String, String)>,
}

/// Something that can be looked for.
pub trait Findable {
    /// Its id, lower case.
    fn id(&self) -> &str;
    /// A field that filters may name, other than the id; `None` for a field
    /// that it does not have.
    fn property(&self, name: &str) -> Option<&str>;
}

impl Query {
    /// Reads a query; empty text asks for everything.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let query = document::parse(text)?;
        let filter = document::parse(&document::text(&query, "Filter").unwrap_or_default())?;
        let wanted = filter.as_object().into_iter().flatten();
        Ok(Self {
            first_generation: document::schema_major(&query) == Some(1),
            filter: wanted
                .map(|(name, value)| (name.clone(), as_text(value)))
                .collect(),
        })
    }

    /// The ids of what matches. An empty id matches nothing: kube-proxy and
    /// CNI plugins ask for it as a matter of routine.
    pub fn pick<'a, T: Findable>(&self, objects: &'a [T]) -> Vec<&'a str> {
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
