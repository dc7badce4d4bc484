//! Errors of the API side: a stable code, the cause, both values, and help.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::change::ObjectRef;
use crate::permissions::Permission;

/// `Display` is the cause in one line; [`ClusterError::code`],
/// [`ClusterError::details`] and [`ClusterError::help`] complete the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    #[error("failed to read the kubeconfig `{}`", path.display())]
    KubeconfigMissing { path: PathBuf, source: io::Error },
    /// Not a kubeconfig, or its context is incomplete.
    #[error("`{}` is not a valid kubeconfig", path.display())]
    KubeconfigUnusable { path: PathBuf, reason: String },
    #[error("the API server {server} does not respond")]
    Unreachable { server: String, reason: String },
    #[error("the certificate of the API server {server} is not trusted")]
    Certificate { server: String, reason: String },
    /// HTTP 401.
    #[error("authentication failed for the kubeconfig's user at the API server {server}")]
    Unauthorized { server: String },
    /// HTTP 403.
    #[error("permission denied: the API server refused to {what}")]
    Forbidden {
        /// What was attempted, as an infinitive.
        what: String,
        message: String,
    },
    /// Reported before anything is changed.
    #[error("the kubeconfig's user lacks {} that casement needs", count(missing.len(), "permission"))]
    MissingPermissions { missing: Vec<Permission> },
    /// A ConfigMap that kubeadm creates is missing.
    #[error("{object} not found: the cluster was not created by kubeadm")]
    NotKubeadm { object: Box<ObjectRef> },
    /// Something that was read is invalid.
    #[error("cannot use {what}")]
    Unusable { what: String, reason: String },
    /// A field no longer has the value that the change was planned on.
    #[error("{object} was changed by someone else since it was planned")]
    Conflict {
        object: Box<ObjectRef>,
        /// The field, as a JSON pointer.
        field: String,
        planned: Option<Value>,
        found: Option<Value>,
    },
    /// An object that casement did not create has the name that casement needs.
    #[error("{object} exists, was not created by casement, and differs from what casement needs")]
    NotOwned {
        object: Box<ObjectRef>,
        /// Limited to the fields that casement would set.
        found: Value,
        expected: Value,
    },
    #[error("timed out after {seconds} s: flannel is not ready with VNI {vni} on {}", count(nodes.len(), "node"))]
    FlannelNotReady {
        vni: u32,
        seconds: u64,
        /// Each node's last state.
        nodes: BTreeMap<String, String>,
    },
    #[error("timed out after {seconds} s: {} still on Node {node}", count(pods.len(), "pod"))]
    NotDrained {
        node: String,
        seconds: u64,
        /// Each pod with the reason it remains.
        pods: BTreeMap<String, String>,
    },
    /// Any other API error.
    #[error("the API server failed to {what}")]
    Api {
        /// What was attempted, as an infinitive.
        what: String,
        source: Box<kube::Error>,
    },
}

impl ClusterError {
    /// Classifies an API error by what the user can do about it.
    pub(crate) fn from_kube(server: &str, what: impl Into<String>, error: kube::Error) -> Self {
        let server = server.to_owned();
        match &error {
            kube::Error::Api(status) if status.code == 401 => Self::Unauthorized { server },
            kube::Error::Api(status) if status.code == 403 => Self::Forbidden {
                what: what.into(),
                message: status.message.clone(),
            },
            kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => {
                let reason = innermost(&error);
                match reason.contains("certificate") || reason.contains("UnknownIssuer") {
                    true => Self::Certificate { server, reason },
                    false => Self::Unreachable { server, reason },
                }
            }
            _ => Self::Api {
                what: what.into(),
                source: Box::new(error),
            },
        }
    }

    /// The stable code for `casement explain`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::KubeconfigMissing { .. } => "CAS-API-001",
            Self::KubeconfigUnusable { .. } => "CAS-API-002",
            Self::Unreachable { .. } => "CAS-API-003",
            Self::Certificate { .. } => "CAS-API-004",
            Self::Unauthorized { .. } => "CAS-API-005",
            Self::Forbidden { .. } => "CAS-API-006",
            Self::MissingPermissions { .. } => "CAS-API-007",
            Self::NotKubeadm { .. } => "CAS-API-008",
            Self::Unusable { .. } => "CAS-API-009",
            Self::Conflict { .. } => "CAS-API-010",
            Self::NotOwned { .. } => "CAS-API-011",
            Self::Api { .. } => "CAS-API-012",
            Self::FlannelNotReady { .. } => "CAS-API-013",
            Self::NotDrained { .. } => "CAS-API-014",
        }
    }

    /// Whether a retry may succeed by itself.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => status.code == 429 || status.code >= 500,
                _ => false,
            },
            _ => false,
        }
    }

    /// Label and value of each detail line.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: String| (label.to_owned(), value);
        let json = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "(not set)".to_owned(),
        };
        match self {
            Self::KubeconfigUnusable { reason, .. }
            | Self::Unreachable { reason, .. }
            | Self::Certificate { reason, .. }
            | Self::Unusable { reason, .. } => vec![pair("reason", reason.clone())],
            Self::Forbidden { message, .. } => vec![pair("response", message.clone())],
            Self::MissingPermissions { missing } => missing
                .chunk_by(Permission::same_object)
                .map(|group| pair("missing", Permission::join(group)))
                .collect(),
            Self::Conflict {
                field,
                planned,
                found,
                ..
            } => vec![
                pair("field", field.clone()),
                pair("planned", json(planned)),
                pair("found", json(found)),
            ],
            Self::NotOwned {
                found, expected, ..
            } => vec![
                pair("found", found.to_string()),
                pair("expected", expected.to_string()),
            ],
            Self::Api { source, .. } => vec![pair("response", innermost(source.as_ref()))],
            Self::FlannelNotReady { nodes: states, .. } | Self::NotDrained { pods: states, .. } => {
                let states = states.iter();
                states
                    .map(|(name, state)| (name.clone(), state.clone()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn help(&self) -> &'static str {
        match self {
            Self::KubeconfigMissing { .. } => {
                "Check `existing.kubeconfig`; on a kubeadm control plane the file is \
                 /etc/kubernetes/admin.conf."
            }
            Self::KubeconfigUnusable { .. } => {
                "Run `kubectl --kubeconfig FILE config view`; casement uses the current context."
            }
            Self::Unreachable { .. } => {
                "Check that the control plane is running, that its address is correct, and that \
                 firewalls allow its port; `kubectl get --raw /version` tests the same."
            }
            Self::Certificate { .. } => {
                "Fetch a new admin.conf from the control plane: the cluster was rebuilt, or the \
                 certificate does not contain this name or address."
            }
            Self::Unauthorized { .. } => {
                "Fetch a new kubeconfig: its certificate or token has expired, or belongs to another \
                 cluster."
            }
            Self::Forbidden { .. } | Self::MissingPermissions { .. } => {
                "Use an admin kubeconfig, or bind the roles of casement's permissions.yaml to its user."
            }
            Self::NotKubeadm { .. } => {
                "Use a cluster created by kubeadm or kubespray; others are not supported."
            }
            Self::Unusable { .. } => "Inspect it with kubectl; casement did not change it.",
            Self::Conflict { .. } => {
                "The new value was kept. Check it, then run the command again to plan with it."
            }
            Self::NotOwned { .. } => {
                "Rename or delete that object, or change it to what casement needs."
            }
            Self::FlannelNotReady { .. } => {
                "Check `kubectl -n kube-flannel get pods -o wide` and the pod logs; run the command \
                 again when the pods are running."
            }
            Self::NotDrained { .. } => {
                "Free capacity on other nodes or relax the PodDisruptionBudget, then run the \
                 command again; `casement reset --no-drain` skips the drain."
            }
            Self::Api { .. } => {
                "Run the command again; if the error persists, check the API server's log."
            }
        }
    }
}

/// `1 node`, `2 nodes`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The innermost cause is the most specific.
fn innermost(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = cause.to_string();
        next = cause.source();
    }
    text
}
