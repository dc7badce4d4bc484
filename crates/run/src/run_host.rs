//! A host of a run, with what was observed on it since it was last changed.

use std::time::Duration;

use casement_resource::NodeDocument;
use tokio::time::Instant;

use crate::agent_client::Observed;
use crate::error::RunError;
use crate::host_agent::HostAgent;

/// How long an observation of an unchanged host is used: longer than the survey of many
/// hosts, shorter than a prompt that nobody answers. A host may drift meanwhile.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The comparison of one host with one document.
#[derive(Debug, Clone)]
pub struct ObservedDocument {
    pub document: NodeDocument,
    pub observed: Observed,
    at: Instant,
}

impl ObservedDocument {
    #[must_use]
    pub fn new(document: NodeDocument, observed: Observed) -> Self {
        Self {
            document,
            observed,
            at: Instant::now(),
        }
    }
}

/// What a survey found is used once per document, instead of asking the host again. It is
/// not used after a change: a step of one document may affect those of another, as a reboot
/// does to all services. The agent itself compares again before each change.
pub struct RunHost<'a, H> {
    pub agent: &'a mut H,
    surveyed: Vec<ObservedDocument>,
    /// The last document that the host was in sync with.
    converged: Option<NodeDocument>,
}

impl<'a, H: HostAgent> RunHost<'a, H> {
    pub fn new(agent: &'a mut H, surveyed: Vec<ObservedDocument>) -> Self {
        Self {
            agent,
            surveyed,
            converged: None,
        }
    }

    /// From the survey if it has compared the host with the same document.
    pub(crate) async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        let known = |it: &ObservedDocument| it.document == *document && it.at.elapsed() < MAX_AGE;
        match self.surveyed.iter().position(known) {
            Some(index) => Ok(self.surveyed.swap_remove(index).observed),
            None => self.agent.observe(document).await,
        }
    }

    /// From now on nothing is known of the host.
    pub(crate) fn begin_change(&mut self) {
        self.surveyed.clear();
        self.converged = None;
    }

    pub(crate) fn set_converged(&mut self, document: &NodeDocument) {
        self.converged = Some(document.clone());
    }

    /// Whether this run has found the host in sync with this document, or made it so, and
    /// has changed nothing since.
    pub(crate) fn is_converged(&self, document: &NodeDocument) -> bool {
        self.converged.as_ref() == Some(document)
    }
}
