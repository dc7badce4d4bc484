//! The objects that casement creates and owns.

use serde_json::{Value, json};

use crate::OWNED_LABEL;
use crate::change::{ChangeMethod, ClusterChange, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";
/// Permissions of a node's overlay daemon beyond those of the node itself.
const OVERLAY: &str = "casement:overlay";

pub fn node_proxier_binding_ref(node: &str) -> ObjectRef {
    let name = format!("casement:node-proxier:{}", node.to_lowercase());
    ObjectRef::new(RBAC_V1, "ClusterRoleBinding", None, &name)
}

/// Lets one node's user read what kube-proxy needs. One binding per node: the group
/// would include every node of the cluster.
pub fn node_proxier_binding(node: &str) -> Value {
    let object = node_proxier_binding_ref(node);
    binding(&object, "system:node-proxier", node)
}

pub fn overlay_role_ref() -> ObjectRef {
    ObjectRef::new(RBAC_V1, "ClusterRole", None, OVERLAY)
}

/// A node can read and change only its own Node; the overlay has to read all.
pub fn overlay_role() -> Value {
    let rule = json!({
        "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"],
    });
    manifest(&overlay_role_ref(), [("rules", json!([rule]))])
}

pub fn overlay_binding_ref(node: &str) -> ObjectRef {
    let name = format!("{OVERLAY}:{}", node.to_lowercase());
    ObjectRef::new(RBAC_V1, "ClusterRoleBinding", None, &name)
}

/// Lets one node's user read all nodes, which flannel's subnet manager requires.
pub fn overlay_binding(node: &str) -> Value {
    binding(&overlay_binding_ref(node), OVERLAY, node)
}

fn binding(object: &ObjectRef, role: &str, node: &str) -> Value {
    let user = format!("system:node:{}", node.to_lowercase());
    manifest(
        object,
        [
            (
                "roleRef",
                json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": role}),
            ),
            (
                "subjects",
                json!([{"apiGroup": RBAC, "kind": "User", "name": user}]),
            ),
        ],
    )
}

/// `name` is for example `windows-2022`.
pub fn runtime_class_ref(name: &str) -> ObjectRef {
    ObjectRef::new("node.k8s.io/v1", "RuntimeClass", None, name)
}

/// Schedules pods on nodes of one Windows build (`10.0.20348`) and tolerates their
/// taint.
pub fn runtime_class(name: &str, build: &str) -> Value {
    let scheduling = json!({
        "nodeSelector": {
            "kubernetes.io/os": "windows",
            "node.kubernetes.io/windows-build": build,
        },
        "tolerations": [{
            "key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule",
        }],
    });
    let handler = json!("runhcs-wcow-process");
    manifest(
        &runtime_class_ref(name),
        [("handler", handler), ("scheduling", scheduling)],
    )
}

fn manifest<const N: usize>(object: &ObjectRef, content: [(&str, Value); N]) -> Value {
    let (key, value) = OWNED_LABEL;
    let tag = [
        ("apiVersion", json!(object.api_version)),
        ("kind", json!(object.kind)),
        (
            "metadata",
            json!({"name": object.name, "labels": {key: value}}),
        ),
    ];
    let fields = tag.into_iter().chain(content);
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whether casement created the object.
pub(crate) fn is_owned(live: &Value) -> bool {
    let (key, value) = OWNED_LABEL;
    live.pointer("/metadata/labels")
        .and_then(|labels| labels.get(key))
        .is_some_and(|found| found == value)
}

impl ClusterClient {
    /// The change that creates or updates this object; none if it is in sync. An
    /// object of that name that casement did not create is used if its content is
    /// equal, otherwise it is an error.
    pub async fn plan_owned(
        &self,
        manifest: &Value,
    ) -> Result<Option<ClusterChange>, ClusterError> {
        let object = reference(manifest)?;
        let live = self.get(&object).await?;
        let before = live.as_ref().map(|live| project(live, manifest));
        if let (Some(live), Some(found)) = (&live, &before)
            && !is_owned(live)
        {
            let expected = content(manifest);
            let found = content(found);
            return match found == expected {
                true => Ok(None),
                false => Err(ClusterError::NotOwned {
                    object: Box::new(object),
                    found,
                    expected,
                }),
            };
        }
        if before.as_ref() == Some(manifest) {
            return Ok(None);
        }
        Ok(Some(ClusterChange {
            object,
            field: String::new(),
            before,
            after: Some(manifest.clone()),
            method: ChangeMethod::Apply,
            outage: None,
        }))
    }

    /// The change that deletes this object; none if it does not exist or casement did
    /// not create it.
    pub async fn plan_removal(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<ClusterChange>, ClusterError> {
        let live = self.get(object).await?.filter(is_owned);
        Ok(live.map(|live| ClusterChange {
            object: object.clone(),
            field: String::new(),
            before: Some(content(&live)),
            after: None,
            method: ChangeMethod::Delete,
            outage: None,
        }))
    }
}

pub(crate) fn reference(manifest: &Value) -> Result<ObjectRef, ClusterError> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let parts = (
        text("/apiVersion"),
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name"),
    );
    match parts {
        (Some(api_version), Some(kind), namespace, Some(name)) => {
            Ok(ObjectRef::new(api_version, kind, namespace, name))
        }
        _ => Err(ClusterError::Unusable {
            what: "a manifest".to_owned(),
            reason: "apiVersion, kind or metadata.name is missing".to_owned(),
        }),
    }
}

/// `live` reduced to the fields of `shape`. Lists of equal length are compared
/// entry by entry, because the server fills in defaults.
fn project(live: &Value, shape: &Value) -> Value {
    match (live, shape) {
        (Value::Object(live), Value::Object(shape)) => shape
            .iter()
            .filter_map(|(key, shape)| Some((key.clone(), project(live.get(key)?, shape))))
            .collect(),
        (Value::Array(live), Value::Array(shape)) if live.len() == shape.len() => {
            let pairs = live.iter().zip(shape);
            pairs.map(|(live, shape)| project(live, shape)).collect()
        }
        (live, _) => live.clone(),
    }
}

/// An object without apiVersion, kind and metadata.
fn content(object: &Value) -> Value {
    let Value::Object(fields) = object else {
        return Value::Null;
    };
    let content = fields
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    content
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
