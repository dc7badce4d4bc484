//! The errors of a run.

use casement_remote::{HostOs, RemoteError};
use casement_resource::Failure;
use casement_resource::wire::{Busy, Tally};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Cluster(#[from] casement_cluster::ClusterError),
    #[error("the cluster cannot accept the Windows nodes of the cluster file: {}", counted(.0.len(), "problem"))]
    PreflightFailed(Vec<casement_diag::Problem>),
    /// Changes that need `--allow-network-outage`.
    #[error("{} the network of all pods", interrupting(.0.len()))]
    Outage(Vec<casement_cluster::ClusterChange>),
    #[error("timed out after {seconds} s: the Node `{node}` is not {expected}")]
    NodeTimeout {
        node: String,
        /// "Ready" or "registered".
        expected: &'static str,
        seconds: u64,
        /// The last observed condition of the Node.
        last: String,
    },
    #[error(transparent)]
    Plan(#[from] casement_plan::PlanError),
    #[error("`{0}` is not a host of the cluster file")]
    NotInSpec(String),
    #[error("no agent available for {os}, the operating system of `{host}`")]
    NoAgent { host: String, os: HostOs },
    #[error("`{host}` requested a file that is not part of the plan: {sha256}")]
    NoBlob { host: String, sha256: String },
    #[error("`{host}` requested a secret that is not part of the plan: {name}")]
    NoSecret { host: String, name: String },
    #[error("the connection to `{host}` was lost")]
    ConnectionLost {
        host: String,
        /// Output of the host that was not part of the protocol.
        noise: String,
    },
    #[error("unexpected message from `{host}`: {message}")]
    Unexpected { host: String, message: String },
    /// The agent rejected the request as a whole.
    #[error("{}", failure.message)]
    Agent { host: String, failure: Box<Failure> },
    #[error("`{host}` is locked by another run")]
    Busy { host: String, busy: Box<Busy> },
    /// The events of the run name the steps.
    #[error("{} on `{host}` failed", counted(tally.failed as usize, "step"))]
    Failed { host: String, tally: Tally },
    #[error(
        "`{host}` was skipped: the limit of unavailable hosts was reached, and none became available again"
    )]
    Skipped { host: String },
    #[error("the run on `{host}` was canceled")]
    Canceled { host: String },
}

impl RunError {
    /// Whether only the connection failed, so that the work may have succeeded.
    pub(crate) fn is_connection_loss(&self) -> bool {
        match self {
            Self::ConnectionLost { .. } => true,
            Self::Remote(error) => error.is_transient(),
            _ => false,
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn interrupting(count: usize) -> String {
    let verb = if count == 1 {
        "interrupts"
    } else {
        "interrupt"
    };
    format!("{} {verb}", counted(count, "change"))
}
