//! Errors of access to the API server: the kubeconfig, the connection and permissions.

use std::io;
use std::path::PathBuf;

use casement_diag::Problem;

use super::count;
use crate::permissions::Permission;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
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
}

const GET_PERMISSIONS: &str =
    "Use an admin kubeconfig, or bind the roles of casement's permissions.yaml to its user.";

impl AccessError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::KubeconfigMissing { source, .. } => Problem::new(
                "CAS-API-001",
                what,
                "Check `existing.kubeconfig`; on a kubeadm control plane the file is \
                 /etc/kubernetes/admin.conf.",
            )
            .detail("reason", source),
            Self::KubeconfigUnusable { reason, .. } => Problem::new(
                "CAS-API-002",
                what,
                "Run `kubectl --kubeconfig FILE config view`; casement uses the current context.",
            )
            .detail("reason", reason),
            Self::Unreachable { reason, .. } => Problem::new(
                "CAS-API-003",
                what,
                "Check that the control plane is running, that its address is correct, and that \
                 firewalls allow its port; `kubectl get --raw /version` tests the same.",
            )
            .detail("reason", reason),
            Self::Certificate { reason, .. } => Problem::new(
                "CAS-API-004",
                what,
                "Fetch a new admin.conf from the control plane: the cluster was rebuilt, or the \
                 certificate does not contain this name or address.",
            )
            .detail("reason", reason),
            Self::Unauthorized { .. } => Problem::new(
                "CAS-API-005",
                what,
                "Fetch a new kubeconfig: its certificate or token has expired, or belongs to \
                 another cluster.",
            ),
            Self::Forbidden { message, .. } => {
                Problem::new("CAS-API-006", what, GET_PERMISSIONS).detail("response", message)
            }
            Self::MissingPermissions { missing } => {
                let problem = Problem::new("CAS-API-007", what, GET_PERMISSIONS);
                missing
                    .chunk_by(Permission::same_object)
                    .fold(problem, |problem, group| {
                        problem.detail("missing", Permission::join(group))
                    })
            }
        }
    }
}
