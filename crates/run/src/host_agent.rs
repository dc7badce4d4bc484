//! What a run needs from a host: implemented by [`AgentClient`], and by fakes in tests.

use std::future::Future;

use casement_resource::wire::{Event, HostFacts, Tally};
use casement_resource::{NodeDocument, RunId, Sha256};

use crate::agent_client::{AgentClient, Observed};
use crate::blob_source::{BlobProgress, Blobs};
use crate::error::RunError;
use crate::secrets::Secrets;

pub trait HostAgent: Send {
    /// The name in the file.
    fn name(&self) -> &str;

    fn facts(&self) -> &HostFacts;

    /// Changes nothing on the host.
    fn observe(
        &mut self,
        document: &NodeDocument,
    ) -> impl Future<Output = Result<Observed, RunError>> + Send;

    fn deliver(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        on_progress: &(dyn Fn(BlobProgress<'_>) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

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

    /// Removes the agent itself, after everything else.
    fn retire(self) -> impl Future<Output = Result<(), RunError>> + Send;
}

impl HostAgent for AgentClient {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn facts(&self) -> &HostFacts {
        Self::facts(self)
    }

    async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        Self::observe(self, document).await
    }

    async fn deliver(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        on_progress: &(dyn Fn(BlobProgress<'_>) + Sync),
    ) -> Result<(), RunError> {
        Self::deliver(self, missing, blobs, on_progress).await
    }

    async fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        Self::converge(self, run, document, secrets, on_event).await
    }

    async fn remove(
        &mut self,
        run: &RunId,
        on_event: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        Self::remove(self, run, on_event).await
    }

    async fn retire(self) -> Result<(), RunError> {
        Self::retire(self).await
    }
}
