//! What a run asks of a host; [`Link`] answers it, and tests do.

use std::future::Future;

use casement_resource::wire::{Event, HostFacts, Tally};
use casement_resource::{NodeDocument, RunId, Sha256};

use crate::error::RunError;
use crate::link::{Link, Observed};
use crate::secrets::Secrets;
use crate::source::{Blobs, Bringing};

/// One host with an agent on it.
pub trait Host: Send {
    /// Its name in the spec.
    fn name(&self) -> &str;

    /// What it is.
    fn facts(&self) -> &HostFacts;

    /// Compares; changes nothing.
    fn observe(
        &mut self,
        document: &NodeDocument,
    ) -> impl Future<Output = Result<Observed, RunError>> + Send;

    /// Brings files that it lacks; `tell` hears how they come.
    fn bring(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        tell: &(dyn Fn(Bringing<'_>) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Makes it what the document says; `secrets` is asked for what that needs.
    fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> impl Future<Output = Result<Tally, RunError>> + Send;

    /// Takes back everything that casement made there.
    fn remove(
        &mut self,
        run: &RunId,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> impl Future<Output = Result<Tally, RunError>> + Send;

    /// Takes the agent itself away, after everything else.
    fn leave(self) -> impl Future<Output = Result<(), RunError>> + Send;
}

impl Host for Link {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn facts(&self) -> &HostFacts {
        Self::facts(self)
    }

    async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        Self::observe(self, document).await
    }

    async fn bring(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        tell: &(dyn Fn(Bringing<'_>) + Sync),
    ) -> Result<(), RunError> {
        Self::bring(self, missing, blobs, tell).await
    }

    async fn converge(
        &mut self,
        run: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        Self::converge(self, run, document, secrets, tell).await
    }

    async fn remove(
        &mut self,
        run: &RunId,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        Self::remove(self, run, tell).await
    }

    async fn leave(self) -> Result<(), RunError> {
        Self::leave(self).await
    }
}
