//! `--max-unavailable`: how many hosts may be unavailable at the same time.

use std::sync::atomic::{AtomicU16, Ordering};

use casement_resource::{NodeDocument, Resource};
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};

use crate::agent_client::Observed;
use crate::error::RunError;

/// A host is unavailable while it is unreachable, rebooting, or back without a Ready
/// Node.
#[derive(Debug, Default)]
pub struct UnavailableLimit(Option<Slots>);

#[derive(Debug)]
struct Slots {
    free: Semaphore,
    /// Permits that are not kept by a failed host.
    usable: AtomicU16,
}

impl UnavailableLimit {
    /// `None` is no limit.
    #[must_use]
    pub fn at_most(hosts: Option<u16>) -> Self {
        Self(hosts.map(|hosts| Slots {
            free: Semaphore::new(hosts.into()),
            usable: AtomicU16::new(hosts),
        }))
    }

    /// Not acquired yet.
    #[must_use]
    pub fn host(&self) -> UnavailablePermit<'_> {
        UnavailablePermit {
            slots: self.0.as_ref(),
            permit: None,
        }
    }
}

/// Held from the first change that may make the host unavailable until it is released or
/// dropped.
#[derive(Debug, Default)]
pub struct UnavailablePermit<'a> {
    slots: Option<&'a Slots>,
    permit: Option<SemaphorePermit<'a>>,
}

impl UnavailablePermit<'_> {
    /// Waits for a free permit if the pending changes make this host unavailable;
    /// `on_wait` is called before it waits. A held permit is reused.
    pub(crate) async fn acquire(
        &mut self,
        document: &NodeDocument,
        observed: &Observed,
        on_wait: impl FnOnce(),
    ) -> Result<(), RunError> {
        let needed = self.permit.is_none() && makes_unavailable(document, observed);
        let Some(slots) = self.slots.filter(|_| needed) else {
            return Ok(());
        };
        let permit = match slots.free.try_acquire() {
            Err(TryAcquireError::NoPermits) => {
                on_wait();
                slots.free.acquire().await.ok()
            }
            acquired => acquired.ok(),
        };
        // Closed when failed hosts keep all permits.
        let skipped = || RunError::Skipped {
            host: document.host().to_owned(),
        };
        self.permit = Some(permit.ok_or_else(skipped)?);
        Ok(())
    }

    pub(crate) fn is_held(&self) -> bool {
        self.permit.is_some()
    }

    pub(crate) fn release(&mut self) {
        self.permit = None;
    }

    /// Keeps the permit until the end of the run: the host does not come back.
    pub(crate) fn keep(&mut self) {
        let (Some(slots), Some(permit)) = (self.slots, self.permit.take()) else {
            return;
        };
        permit.forget();
        if slots.usable.fetch_sub(1, Ordering::SeqCst) == 1 {
            // No permit will become free: waiting hosts are skipped.
            slots.free.close();
        }
    }
}

/// Whether a pending step may drop the connection or reboot the host. A reboot becomes
/// necessary through the steps before it, so it counts if one of those is pending.
fn makes_unavailable(document: &NodeDocument, observed: &Observed) -> bool {
    let pending = observed.steps.iter().filter(|step| !step.in_sync());
    let pending: Vec<_> = pending.map(|step| &step.id).collect();
    document.steps().iter().any(|step| {
        let is_pending = pending.contains(&&step.id);
        match step.resource {
            Resource::Reboot(_) => is_pending || step.after.iter().any(|it| pending.contains(&it)),
            _ => is_pending && step.disruptive,
        }
    })
}

#[cfg(test)]
mod tests;
