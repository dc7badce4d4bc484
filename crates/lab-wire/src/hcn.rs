//! Host Compute Network calls, both generations.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;

/// One call of `computenetwork.dll`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HcnCall {
    /// What to do.
    pub verb: Verb,
    /// With which kind of object.
    pub object: Object,
    /// The object's id (36 characters, lower case); empty or all zeros where a
    /// new object may choose its own.
    pub id: String,
    /// The network that a new endpoint belongs to; empty otherwise.
    pub network: String,
    /// The settings or the query, as the caller wrote it.
    pub document: String,
}

/// The verbs; `Close` never leaves the DLL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Answers a JSON array of ids.
    Enumerate,
    /// Answers the new id.
    Create,
    /// Answers nothing; fails where the object does not exist.
    Open,
    /// Answers nothing.
    Modify,
    /// Answers the object.
    Query,
    /// Answers nothing.
    Delete,
}

/// The kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
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

/// What Windows writes beside a failing HRESULT: the text with a blank behind
/// it, and the code as an unsigned number.
pub fn error_record(failure: &Failure) -> String {
    json!({
        "Success": false,
        "Error": format!("{} ", failure.text),
        "ErrorCode": failure.code,
    })
    .to_string()
}
