//! Host Compute Network calls (v2) and HNS calls (v1).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;

/// One call of `computenetwork.dll`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HcnCall {
    pub verb: Verb,
    pub object: Object,
    /// The object's id (36 characters, lower case); empty or all zeros for a new object
    /// without a requested id.
    pub id: String,
    /// The network of a new endpoint; empty otherwise.
    pub network: String,
    /// The settings or the query, as sent by the caller.
    pub document: String,
}

/// `Close` is handled in the DLL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Returns a JSON array of ids.
    Enumerate,
    /// Returns the new id.
    Create,
    /// Returns nothing; fails if the object does not exist.
    Open,
    /// Returns nothing.
    Modify,
    /// Returns the object.
    Query,
    /// Returns nothing.
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Object {
    Network,
    Endpoint,
    Namespace,
    LoadBalancer,
    SdnRoute,
}

/// One call of `HNSCall`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HnsCall {
    /// GET, POST or DELETE.
    pub method: String,
    /// For example `/networks/`.
    pub path: String,
    /// JSON, or empty.
    pub body: String,
}

/// The error record that Windows returns with a failed HRESULT: the message with a
/// trailing space, and the code as an unsigned number.
pub fn error_record(failure: &Failure) -> String {
    json!({
        "Success": false,
        "Error": format!("{} ", failure.text),
        "ErrorCode": failure.code,
    })
    .to_string()
}
