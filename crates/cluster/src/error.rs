//! What can go wrong with the API: one code, one cause, both values, a way on.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::change::ObjectRef;
use crate::rights::Right;

/// An error of the API side. `Display` is the cause in one line;
/// [`ClusterError::code`], [`ClusterError::details`] and [`ClusterError::remedy`]
/// are the rest of the screen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The kubeconfig cannot be read.
    #[error("the kubeconfig `{}` cannot be read", path.display())]
    KubeconfigMissing {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The kubeconfig is none, or its context leads nowhere.
    #[error("`{}` is not a usable kubeconfig", path.display())]
    KubeconfigUnusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing answers at the server's address.
    #[error("the API server {server} does not answer")]
    Unreachable {
        /// Its URL.
        server: String,
        /// How far it got.
        reason: String,
    },
    /// The server's certificate is not one that the kubeconfig trusts.
    #[error("the certificate of the API server {server} is not trusted")]
    Certificate {
        /// Its URL.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server does not know who we are.
    #[error("the API server {server} does not accept the kubeconfig's user")]
    Unauthorized {
        /// Its URL.
        server: String,
    },
    /// The server knows who we are, and says no.
    #[error("the API server refuses to {what}")]
    Forbidden {
        /// What was tried.
        what: String,
        /// Its own words.
        message: String,
    },
    /// Found before anything was changed.
    #[error("the kubeconfig's user lacks {} of the rights that casement needs", missing.len())]
    MissingRights {
        /// All that are missing.
        missing: Vec<Right>,
    },
    /// A ConfigMap of kubeadm's is not there.
    #[error("the cluster has no ConfigMap {object}: kubeadm did not make it")]
    NotKubeadm {
        /// The one that is missing.
        object: Box<ObjectRef>,
    },
    /// Something of the cluster's cannot be understood.
    #[error("{what} cannot be understood")]
    NotUnderstood {
        /// What was read.
        what: String,
        /// Why.
        reason: String,
    },
    /// A field is not what it was when the change was planned.
    #[error("{object} was changed by somebody else")]
    Conflict {
        /// The object.
        object: Box<ObjectRef>,
        /// The field, as a JSON pointer.
        field: String,
        /// What the plan found there.
        planned: Option<Value>,
        /// What is there now.
        found: Option<Value>,
    },
    /// A name that casement needs is taken by somebody else's object.
    #[error("{object} is there, is not casement's, and differs from what casement needs")]
    NotOurs {
        /// The object.
        object: Box<ObjectRef>,
        /// What it holds of what casement would set.
        found: Value,
        /// What casement would set.
        wanted: Value,
    },
    /// flannel did not come back after its restart.
    #[error("flannel is not back with VNI {vni} on {} nodes after {seconds} s", nodes.len())]
    FlannelNotBack {
        /// The number of the overlay that it should have.
        vni: u32,
        /// For how long it was waited for.
        seconds: u64,
        /// The nodes, each with what was last seen of it.
        nodes: BTreeMap<String, String>,
    },
    /// Pods that do not leave a node.
    #[error("{} pods do not leave Node {node} within {seconds} s", pods.len())]
    NotDrained {
        /// The node.
        node: String,
        /// For how long it was waited for.
        seconds: u64,
        /// The pods, each with what keeps it.
        pods: BTreeMap<String, String>,
    },
    /// Anything else that the API says.
    #[error("the API server could not {what}")]
    Api {
        /// What was tried.
        what: String,
        /// Its answer.
        source: Box<kube::Error>,
    },
}

impl ClusterError {
    /// Sorts an answer of the API by what a person would do about it.
    pub(crate) fn of(server: &str, what: impl Into<String>, error: kube::Error) -> Self {
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

    /// The stable code that `casement explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            Self::KubeconfigMissing { .. } => "CAS-API-001",
            Self::KubeconfigUnusable { .. } => "CAS-API-002",
            Self::Unreachable { .. } => "CAS-API-003",
            Self::Certificate { .. } => "CAS-API-004",
            Self::Unauthorized { .. } => "CAS-API-005",
            Self::Forbidden { .. } => "CAS-API-006",
            Self::MissingRights { .. } => "CAS-API-007",
            Self::NotKubeadm { .. } => "CAS-API-008",
            Self::NotUnderstood { .. } => "CAS-API-009",
            Self::Conflict { .. } => "CAS-API-010",
            Self::NotOurs { .. } => "CAS-API-011",
            Self::Api { .. } => "CAS-API-012",
            Self::FlannelNotBack { .. } => "CAS-API-013",
            Self::NotDrained { .. } => "CAS-API-014",
        }
    }

    /// Whether trying again may help without anybody doing anything.
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

    /// The values behind the cause, as label and value.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: String| (label.to_owned(), value);
        let json = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "(nothing)".to_owned(),
        };
        match self {
            Self::KubeconfigUnusable { reason, .. }
            | Self::Unreachable { reason, .. }
            | Self::Certificate { reason, .. }
            | Self::NotUnderstood { reason, .. } => vec![pair("reason", reason.clone())],
            Self::Forbidden { message, .. } => vec![pair("it says", message.clone())],
            Self::MissingRights { missing } => missing
                .chunk_by(Right::is_about_the_same)
                .map(|rights| pair("missing", Right::several(rights)))
                .collect(),
            Self::Conflict {
                field,
                planned,
                found,
                ..
            } => vec![
                pair("field", field.clone()),
                pair("planned on", json(planned)),
                pair("found", json(found)),
            ],
            Self::NotOurs { found, wanted, .. } => vec![
                pair("found", found.to_string()),
                pair("needed", wanted.to_string()),
            ],
            Self::Api { source, .. } => vec![pair("it says", innermost(source.as_ref()))],
            Self::FlannelNotBack { nodes: seen, .. } | Self::NotDrained { pods: seen, .. } => {
                let seen = seen.iter();
                seen.map(|(name, what)| (name.clone(), what.clone()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// What to do now.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::KubeconfigMissing { .. } => {
                "Check `existing.kubeconfig`; on a kubeadm control plane the file is \
                 /etc/kubernetes/admin.conf."
            }
            Self::KubeconfigUnusable { .. } => {
                "`kubectl --kubeconfig FILE config view` shows what is in it; casement uses its \
                 current context."
            }
            Self::Unreachable { .. } => {
                "Is the control plane up, is that its address, and do firewalls let its port \
                 through? `kubectl get --raw /version` asks the same question."
            }
            Self::Certificate { .. } => {
                "Was the cluster rebuilt, or is the server reached by a name or address that is \
                 not in its certificate? Fetch a fresh admin.conf from the control plane."
            }
            Self::Unauthorized { .. } => {
                "The kubeconfig's certificate or token has run out, or belongs to another cluster: \
                 fetch a fresh one."
            }
            Self::Forbidden { .. } | Self::MissingRights { .. } => {
                "Use an admin kubeconfig, or give its user the roles of casement's permissions.yaml."
            }
            Self::NotKubeadm { .. } => {
                "casement joins nodes to clusters made by kubeadm (kubespray's included)."
            }
            Self::NotUnderstood { .. } => "Look at it with kubectl; casement did not change it.",
            Self::Conflict { .. } => {
                "Their value stays. Look at it, then run casement again: it plans anew."
            }
            Self::NotOurs { .. } => {
                "Rename or remove that object, or change it to what casement needs."
            }
            Self::FlannelNotBack { .. } => {
                "`kubectl -n kube-flannel get pods -o wide` and their logs say why; run casement \
                 again when they run."
            }
            Self::NotDrained { .. } => {
                "Make room for them elsewhere or relax their PodDisruptionBudget, and run it \
                 again; `casement reset --no-drain` leaves them to their controllers."
            }
            Self::Api { .. } => "Run it again; if it stays so, look at the API server's log.",
        }
    }
}

/// The last cause of a chain says most.
fn innermost(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = cause.to_string();
        next = cause.source();
    }
    text
}
