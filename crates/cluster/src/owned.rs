//! The objects that casement makes itself.

use serde_json::{Value, json};

use crate::OWNED_LABEL;
use crate::change::{ClusterChange, ObjectRef, Way};
use crate::connect::Cluster;
use crate::error::ClusterError;

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";
/// What a node's overlay daemon may do beyond the node's own rights.
const OVERLAY: &str = "casement:overlay";

/// The name of a node's binding for kube-proxy.
pub fn node_proxier_binding_ref(node: &str) -> ObjectRef {
    let name = format!("casement:node-proxier:{}", node.to_lowercase());
    ObjectRef::new(RBAC_V1, "ClusterRoleBinding", None, &name)
}

/// Lets one node's own user read what kube-proxy needs. One binding for each
/// node: a group would hold every node of the cluster.
pub fn node_proxier_binding(node: &str) -> Value {
    let object = node_proxier_binding_ref(node);
    binding(&object, "system:node-proxier", node)
}

/// The name of the overlay's role.
pub fn overlay_role_ref() -> ObjectRef {
    ObjectRef::new(RBAC_V1, "ClusterRole", None, OVERLAY)
}

/// A node may change its own Node; the overlay has to see all others.
pub fn overlay_role() -> Value {
    let rule = json!({
        "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"],
    });
    manifest(&overlay_role_ref(), [("rules", json!([rule]))])
}

/// The name of a node's binding for the overlay.
pub fn overlay_binding_ref(node: &str) -> ObjectRef {
    let name = format!("{OVERLAY}:{}", node.to_lowercase());
    ObjectRef::new(RBAC_V1, "ClusterRoleBinding", None, &name)
}

/// Lets one node's own user see all nodes, as flannel's contract needs.
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

/// The name of the RuntimeClass for `windows-2022` and its like.
pub fn runtime_class_ref(name: &str) -> ObjectRef {
    ObjectRef::new("node.k8s.io/v1", "RuntimeClass", None, name)
}

/// Pods that name this class go to nodes of one Windows build (`10.0.20348`), and
/// tolerate their taint.
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

/// Whether casement made the object.
pub(crate) fn is_ours(live: &Value) -> bool {
    let (key, value) = OWNED_LABEL;
    live.pointer("/metadata/labels")
        .and_then(|labels| labels.get(key))
        .is_some_and(|found| found == value)
}

impl Cluster {
    /// What it takes to have this object; nothing if it is there. An object of
    /// that name which somebody else made is used if it holds the same, and is an
    /// error if not.
    pub async fn plan_owned(
        &self,
        manifest: &Value,
    ) -> Result<Option<ClusterChange>, ClusterError> {
        let object = reference(manifest)?;
        let live = self.get(&object).await?;
        let before = live.as_ref().map(|live| project(live, manifest));
        if let (Some(live), Some(found)) = (&live, &before)
            && !is_ours(live)
        {
            let wanted = content(manifest);
            let found = content(found);
            return match found == wanted {
                true => Ok(None),
                false => Err(ClusterError::NotOurs {
                    object: Box::new(object),
                    found,
                    wanted,
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
            way: Way::Apply,
            outage: None,
        }))
    }

    /// What it takes to have this object gone; nothing if it is not there, or not
    /// casement's.
    pub async fn plan_removal(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<ClusterChange>, ClusterError> {
        let live = self.get(object).await?.filter(is_ours);
        Ok(live.map(|live| ClusterChange {
            object: object.clone(),
            field: String::new(),
            before: Some(content(&live)),
            after: None,
            way: Way::Delete,
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
        _ => Err(ClusterError::NotUnderstood {
            what: "a manifest".to_owned(),
            reason: "it lacks apiVersion, kind or metadata.name".to_owned(),
        }),
    }
}

/// What `live` holds of the fields that `shape` has. Lists of one length are
/// looked at one by one, since the server fills in what their entries leave out.
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

/// An object without its name tag.
fn content(object: &Value) -> Value {
    let Value::Object(fields) = object else {
        return Value::Null;
    };
    let said = fields
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    said.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
