//! What a run needs from a host: implemented by [`AgentClient`](crate::agent_client::AgentClient), and by fakes in tests.

use std::future::Future;

use casement_resource::wire::{Event, HostFacts, Tally};
use casement_resource::{NodeDocument, RunId, Sha256};

use crate::agent_client::Observed;
use crate::blob_source::{BlobProgress, Blobs};
use crate::error::RunError;
use crate::secrets::Secrets;

pub trait HostAgent: Send {
    /// The name in the file.
    fn name(&self) -> &str;

    fn facts(&self) -> &HostFacts;

    /// Compares a document with the host; changes nothing.
    fn observe(
        &mut self,
        document: &NodeDocument,
    ) -> impl Future<Output = Result<Observed, RunError>> + Send;

    /// Resumes partial transfers after a connection loss.
    fn deliver(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        on_progress: &(dyn Fn(BlobProgress<'_>) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Converges the host to the document; reconnects after every connection loss.
    /// `secrets` is called for each secret that a change needs.
    fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> impl Future<Output = Result<Tally, RunError>> + Send;

    /// Removes everything that casement created on the host and restores prior values.
    fn remove(
        &mut self,
        run: &RunId,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> impl Future<Output = Result<Tally, RunError>> + Send;

    /// Removes the agent's service, its state and its executable, after everything else.
    fn retire(self) -> impl Future<Output = Result<(), RunError>> + Send;
}
