//! Tables, as `kubectl get` requests them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::time;

mod cells;

/// Which part of an object its row includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// From the query parameter `includeObject`.
    pub(super) fn read(text: &str) -> Self {
        match text {
            "None" => Self::Nothing,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

pub(super) fn table<'a>(
    kind: &Kind,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: Value,
    include: Include,
) -> Value {
    let definitions: Vec<Value> = columns(kind)
        .split(',')
        .map(|column| {
            let name = column.trim_start_matches('+');
            let format = if name == "Name" { "name" } else { "" };
            json!({
                "name": name, "type": "string", "format": format, "description": "",
                "priority": u8::from(name != column),
            })
        })
        .collect();
    let now = Timestamp::now();
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let mut row = json!({"cells": cells::of(kind, object, now)});
            let included = match include {
                Include::Nothing => Value::Null,
                Include::Metadata => partial(object),
                Include::Object => object.clone(),
            };
            if let (false, Some(fields)) = (included.is_null(), row.as_object_mut()) {
                fields.insert("object".to_owned(), included);
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

fn age(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now)
}

fn since(then: &Value, now: Timestamp) -> Value {
    match then.as_str().and_then(time::parse) {
        Some(then) => json!(time::age(then, now)),
        None => json!("<unknown>"),
    }
}

/// Column names; `+` marks those that only `-o wide` shows.
fn columns(kind: &Kind) -> &'static str {
    match kind.kind {
        "Node" => {
            "Name,Status,Roles,Age,Version,+Internal-IP,+External-IP,+OS-Image,+Kernel-Version,\
             +Container-Runtime"
        }
        "ConfigMap" => "Name,Data,Age",
        "Secret" => "Name,Type,Data,Age",
        "Namespace" => "Name,Status,Age",
        "Service" => "Name,Type,Cluster-IP,External-IP,Port(s),Age,+Selector",
        "Pod" => "Name,Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates",
        "Event" => "Last Seen,Type,Reason,Object,+Source,Message,+Count,+Name",
        "DaemonSet" => {
            "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,+Containers,\
             +Images,+Selector"
        }
        "Deployment" => "Name,Ready,Up-to-date,Available,Age,+Containers,+Images,+Selector",
        "ReplicaSet" => "Name,Desired,Current,Ready,Age,+Containers,+Images,+Selector",
        "CertificateSigningRequest" => "Name,Age,SignerName,Requestor,RequestedDuration,Condition",
        "Lease" => "Name,Holder,Age",
        "RuntimeClass" => "Name,Handler,Age",
        "Role" | "ClusterRole" => "Name,Created At",
        "RoleBinding" | "ClusterRoleBinding" => "Name,Role,Age,+Users,+Groups,+ServiceAccounts",
        _ => "Name,Age",
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::KINDS;
    use super::*;

    #[test]
    fn every_kind_has_one_cell_per_column() {
        for kind in KINDS {
            let object = json!({"metadata": {"name": "x"}});
            let table = table(kind, [&object], json!({}), Include::Nothing);
            let cells = table["rows"][0]["cells"].as_array().unwrap();
            let columns = table["columnDefinitions"].as_array().unwrap();
            assert_eq!(cells.len(), columns.len(), "{}", kind.kind);
        }
    }
}
