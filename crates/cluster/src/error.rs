//! Errors of the API side: a stable code, the cause, both values, and help.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as _;

use casement_diag::Problem;
use serde_json::Value;

use crate::change::ObjectRef;

mod access;

pub use access::AccessError;

/// `Display` is the cause in one line, [`ClusterError::problem`] the whole message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    #[error(transparent)]
    Access(#[from] AccessError),
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
            kube::Error::Api(status) if status.code == 401 => {
                AccessError::Unauthorized { server }.into()
            }
            kube::Error::Api(status) if status.code == 403 => AccessError::Forbidden {
                what: what.into(),
                message: status.message.clone(),
            }
            .into(),
            kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => {
                let reason = innermost(&error);
                match reason.contains("certificate") || reason.contains("UnknownIssuer") {
                    true => AccessError::Certificate { server, reason }.into(),
                    false => AccessError::Unreachable { server, reason }.into(),
                }
            }
            _ => Self::Api {
                what: what.into(),
                source: Box::new(error),
            },
        }
    }

    /// Whether a retry may succeed by itself.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Access(error) => matches!(error, AccessError::Unreachable { .. }),
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => status.code == 429 || status.code >= 500,
                _ => false,
            },
            _ => false,
        }
    }

    /// The stable code for `casement explain`.
    pub fn code(&self) -> Cow<'static, str> {
        self.problem().code
    }

    /// Code, cause, the values behind it, and help.
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::Access(error) => error.problem(),
            Self::NotKubeadm { .. } => Problem::new(
                "CAS-API-008",
                what,
                "Use a cluster created by kubeadm or kubespray; others are not supported.",
            ),
            Self::Unusable { reason, .. } => Problem::new(
                "CAS-API-009",
                what,
                "Inspect it with kubectl; casement did not change it.",
            )
            .detail("reason", reason),
            Self::Conflict {
                field,
                planned,
                found,
                ..
            } => Problem::new(
                "CAS-API-010",
                what,
                "The new value was kept. Check it, then run the command again to plan with it.",
            )
            .detail("field", field)
            .detail("planned", or_not_set(planned.as_ref()))
            .detail("found", or_not_set(found.as_ref())),
            Self::NotOwned {
                found, expected, ..
            } => Problem::new(
                "CAS-API-011",
                what,
                "Rename or delete that object, or change it to what casement needs.",
            )
            .detail("found", found)
            .detail("expected", expected),
            Self::Api { source, .. } => Problem::new(
                "CAS-API-012",
                what,
                "Run the command again; if the error persists, check the API server's log.",
            )
            .detail("response", innermost(source.as_ref())),
            Self::FlannelNotReady { nodes, .. } => {
                let help = "Check `kubectl -n kube-flannel get pods -o wide` and the pod logs; \
                            run the command again when the pods are running.";
                with_states(Problem::new("CAS-API-013", what, help), nodes)
            }
            Self::NotDrained { pods, .. } => {
                let help = "Free capacity on other nodes or relax the PodDisruptionBudget, then \
                            run the command again; `casement reset --no-drain` skips the drain.";
                with_states(Problem::new("CAS-API-014", what, help), pods)
            }
        }
    }
}

fn or_not_set(value: Option<&Value>) -> String {
    value.map_or_else(|| "(not set)".to_owned(), Value::to_string)
}

/// One detail for each object with its state.
fn with_states(problem: Problem, states: &BTreeMap<String, String>) -> Problem {
    states.iter().fold(problem, |problem, (name, state)| {
        problem.detail(name, state)
    })
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
