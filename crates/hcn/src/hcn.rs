//! The second generation of the interface.

use std::fmt;

use serde_json::{Value, json};

use crate::error::HcnError;
use crate::guid::Guid;
use crate::kind::{Kind, Verb};
use crate::platform::{ComputeNetwork, Handle};

/// The host compute network, through `computenetwork.dll`.
pub struct Hcn {
    library: ComputeNetwork,
}

/// A query for all objects of a kind.
pub fn everything() -> Value {
    filtered(&json!({}))
}

/// A query for the objects with a name; names compare exactly.
pub fn by_name(name: &str) -> Value {
    filtered(&json!({ "Name": name }))
}

/// A query for one object.
pub fn by_id(id: Guid) -> Value {
    filtered(&json!({ "ID": id.to_string() }))
}

/// A query for the endpoints of a network.
pub fn by_network(network: Guid) -> Value {
    filtered(&json!({ "VirtualNetwork": network.to_string() }))
}

/// HNS requires the filter as JSON inside a JSON string.
fn filtered(filter: &Value) -> Value {
    json!({
        "SchemaVersion": { "Major": 2, "Minor": 0 },
        "Filter": filter.to_string(),
    })
}

impl Hcn {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// [`HcnError::MissingLibrary`] on a host without the feature `Containers`.
    pub fn load() -> Result<Self, HcnError> {
        ComputeNetwork::load().map(|library| Self { library })
    }

    /// The ids of the objects that a query matches; see [`everything`],
    /// [`by_name`], [`by_id`], [`by_network`].
    pub fn enumerate(&self, kind: Kind, query: &Value) -> Result<Vec<Guid>, HcnError> {
        let response = self.library.enumerate(kind, &query.to_string())?;
        let call = kind.function(Verb::Enumerate);
        let ids: Vec<String> =
            serde_json::from_str(&response).map_err(|error| HcnError::InvalidResponse {
                call,
                reason: error.to_string(),
            })?;
        ids.iter().map(|id| Ok(id.parse()?)).collect()
    }

    /// The documents of all objects that a query matches.
    ///
    /// Objects that are deleted between the two calls are skipped.
    pub fn list(&self, kind: Kind, query: &Value) -> Result<Vec<Value>, HcnError> {
        let mut found = Vec::new();
        for id in self.enumerate(kind, query)? {
            match self.query(kind, id) {
                Ok(document) => found.push(document),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    pub fn query(&self, kind: Kind, id: Guid) -> Result<Value, HcnError> {
        let object = self.library.open(kind, id)?;
        self.properties(kind, &object)
    }

    /// Returns the new object's document, with the id that HNS generated or that the
    /// settings contain. For endpoints: [`Hcn::create_endpoint`].
    pub fn create(&self, kind: Kind, settings: &Value) -> Result<Value, HcnError> {
        let object = self.library.create(kind, &settings.to_string())?;
        self.properties(kind, &object)
    }

    /// Returns the new endpoint's document.
    pub fn create_endpoint(&self, network: Guid, settings: &Value) -> Result<Value, HcnError> {
        let network = self.library.open(Kind::Network, network)?;
        let endpoint = self
            .library
            .create_endpoint(&network, &settings.to_string())?;
        self.properties(Kind::Endpoint, &endpoint)
    }

    /// The format of `settings` depends on the kind.
    pub fn modify(&self, kind: Kind, id: Guid, settings: &Value) -> Result<(), HcnError> {
        let object = self.library.open(kind, id)?;
        self.library.modify(&object, &settings.to_string())
    }

    /// A missing object is an error with [`HcnError::is_not_found`].
    pub fn delete(&self, kind: Kind, id: Guid) -> Result<(), HcnError> {
        self.library.delete(kind, id)
    }

    fn properties(&self, kind: Kind, object: &Handle) -> Result<Value, HcnError> {
        let response = self.library.query(object, &everything().to_string())?;
        serde_json::from_str(&response).map_err(|error| HcnError::InvalidResponse {
            call: kind.function(Verb::Query),
            reason: error.to_string(),
        })
    }
}

impl fmt::Debug for Hcn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hcn")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_json_inside_a_string() {
        assert_eq!(by_name("cbr0")["Filter"], r#"{"Name":"cbr0"}"#);
        assert_eq!(everything()["Filter"], "{}");
    }

    #[cfg(not(windows))]
    #[test]
    fn the_library_is_missing_on_other_platforms() {
        assert!(Hcn::load().unwrap_err().is_absent());
    }
}
