//! How many hosts may be out of reach of their users at once.

use casement_resource::{NodeDocument, Resource};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::link::Observed;

/// A number of hosts that may be cut off or reboot at the same time.
#[derive(Debug, Default)]
pub struct Unavailable(Option<Semaphore>);

impl Unavailable {
    /// So many, or any number.
    #[must_use]
    pub fn at_most(hosts: Option<u16>) -> Self {
        Self(hosts.map(|hosts| Semaphore::new(hosts.into())))
    }

    /// Waits until one more host may be away, if what is to change on it takes it
    /// away; `tell` hears that it waits. It may be away until what this gives is
    /// dropped.
    pub(crate) async fn turn(
        &self,
        document: &NodeDocument,
        seen: &Observed,
        tell: impl FnOnce(),
    ) -> Option<SemaphorePermit<'_>> {
        let semaphore = self.0.as_ref().filter(|_| goes_away(document, seen))?;
        if let Ok(permit) = semaphore.try_acquire() {
            return Some(permit);
        }
        tell();
        // It is never closed.
        semaphore.acquire().await.ok()
    }
}

/// Whether something that differs may cut the connection, or reboots the host.
fn goes_away(document: &NodeDocument, seen: &Observed) -> bool {
    let differing = seen.steps.iter().filter(|step| !step.is_right());
    differing
        .filter_map(|step| document.step(&step.id))
        .any(|step| step.disruptive || matches!(step.resource, Resource::Reboot(_)))
}
