//! What can go wrong in a run, in one place for whoever prints it.

use casement_remote::{HostOs, RemoteError};
use casement_resource::Failure;
use casement_resource::wire::{Busy, Tally};

/// Why a run, or one host's part of it, did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The way to the host.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] casement_cluster::ClusterError),
    /// The cluster cannot take the nodes that the file asks for.
    #[error("the cluster cannot take Windows nodes as the file says, for {} reasons", .0.len())]
    Unfit(Vec<casement_diag::Problem>),
    /// Changes that need somebody's word.
    #[error("{} of the changes stop the network of all pods for a while", .0.len())]
    Outage(Vec<String>),
    /// A Node that did not get so far.
    #[error("the Node `{node}` is not {what} after {seconds} s")]
    NodeNot {
        /// The Node.
        node: String,
        /// What it should be.
        what: &'static str,
        /// For how long it was waited for.
        seconds: u64,
        /// The last that was seen of it.
        last: String,
    },
    /// The plan.
    #[error(transparent)]
    Plan(#[from] casement_plan::PlanError),
    /// A host that nobody asked for.
    #[error("`{0}` is not one of the hosts in the file")]
    NotInSpec(String),
    /// There is no agent for the host's system.
    #[error("there is no agent for {os}, which `{host}` runs")]
    NoAgent {
        /// The host.
        host: String,
        /// Its system.
        os: HostOs,
    },
    /// The host asked for a file that the plan does not have.
    #[error("`{host}` asked for a file that is not part of the plan: {sha256}")]
    NoBlob {
        /// The host.
        host: String,
        /// The file's hash.
        sha256: String,
    },
    /// The host asked for a secret that the plan does not have.
    #[error("`{host}` asked for a secret that is not part of the plan: {name}")]
    NoSecret {
        /// The host.
        host: String,
        /// The secret's name.
        name: String,
    },
    /// The connection ended in the middle.
    #[error("the connection to `{host}` ended")]
    Cut {
        /// The host.
        host: String,
        /// What it said beside the conversation.
        said: String,
    },
    /// A message out of turn.
    #[error("`{host}` said something out of turn: {message}")]
    Unexpected {
        /// The host.
        host: String,
        /// What it said.
        message: String,
    },
    /// The agent could not do what it was asked at all.
    #[error("{}", failure.what)]
    Agent {
        /// The host.
        host: String,
        /// In the agent's words.
        failure: Box<Failure>,
    },
    /// Another run has the host.
    #[error("`{host}` is busy with another run")]
    Busy {
        /// The host.
        host: String,
        /// Who has it, since when.
        busy: Box<Busy>,
    },
    /// Steps failed; the events told which.
    #[error("{} of the steps on `{host}` failed", tally.failed)]
    Failed {
        /// The host.
        host: String,
        /// How many of each.
        tally: Tally,
    },
    /// As many hosts as may be away at once have not come back.
    #[error("`{host}` is left as it is: as many hosts as may be away at once have not come back")]
    LeftAlone {
        /// The host.
        host: String,
    },
    /// Somebody stopped the run.
    #[error("the run on `{host}` was stopped")]
    Stopped {
        /// The host.
        host: String,
    },
}

impl RunError {
    /// Whether the connection went away, and everything else may be right.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Cut { .. } => true,
            Self::Remote(error) => error.is_transient(),
            _ => false,
        }
    }
}
