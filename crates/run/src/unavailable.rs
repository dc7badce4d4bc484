//! How many hosts may be out of reach of their users at once.

use std::sync::atomic::{AtomicU16, Ordering};

use casement_resource::{NodeDocument, Resource};
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};

use crate::error::RunError;
use crate::link::Observed;

/// A number of hosts that may be away at the same time: cut off, booting, or back
/// without a Node that is Ready.
#[derive(Debug, Default)]
pub struct Unavailable(Option<Places>);

#[derive(Debug)]
struct Places {
    free: Semaphore,
    /// Those that are not a lost host's.
    left: AtomicU16,
}

impl Unavailable {
    /// So many, or any number.
    #[must_use]
    pub fn at_most(hosts: Option<u16>) -> Self {
        Self(hosts.map(|hosts| Places {
            free: Semaphore::new(hosts.into()),
            left: AtomicU16::new(hosts),
        }))
    }

    /// For one host, which is not away yet.
    #[must_use]
    pub fn host(&self) -> Away<'_> {
        Away {
            places: self.0.as_ref(),
            place: None,
        }
    }
}

/// Whether one host counts as away: from the first change that may take it away until
/// it is back, or this is dropped.
#[derive(Debug, Default)]
pub struct Away<'a> {
    places: Option<&'a Places>,
    place: Option<SemaphorePermit<'a>>,
}

impl Away<'_> {
    /// Waits until one more host may be away, if what is to change on this one takes
    /// it away; `tell` hears that it waits. A host that counts already does not wait
    /// for itself.
    pub(crate) async fn leave(
        &mut self,
        document: &NodeDocument,
        seen: &Observed,
        tell: impl FnOnce(),
    ) -> Result<(), RunError> {
        let leaves = self.place.is_none() && goes_away(document, seen);
        let Some(places) = self.places.filter(|_| leaves) else {
            return Ok(());
        };
        let place = match places.free.try_acquire() {
            Err(TryAcquireError::NoPermits) => {
                tell();
                places.free.acquire().await.ok()
            }
            taken => taken.ok(),
        };
        // There are no more when all of them are lost hosts'.
        let none = || RunError::LeftAlone {
            host: document.host().to_owned(),
        };
        self.place = Some(place.ok_or_else(none)?);
        Ok(())
    }

    /// Whether it counts now.
    pub(crate) fn counts(&self) -> bool {
        self.place.is_some()
    }

    /// It is back, or nobody misses it.
    pub(crate) fn back(&mut self) {
        self.place = None;
    }

    /// It does not come back in this run, and counts to the end of it.
    pub(crate) fn lost(&mut self) {
        let (Some(places), Some(place)) = (self.places, self.place.take()) else {
            return;
        };
        place.forget();
        if places.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Nobody has to wait for what cannot come.
            places.free.close();
        }
    }
}

/// Whether something that differs may cut the connection, or reboots the host. What a
/// reboot is for is made in the steps before it, so that one whose steps differ may
/// be wanted although nothing waits for it yet.
fn goes_away(document: &NodeDocument, seen: &Observed) -> bool {
    let differing = seen.steps.iter().filter(|step| !step.is_right());
    let differing: Vec<_> = differing.map(|step| &step.id).collect();
    document.steps().iter().any(|step| {
        let differs = differing.contains(&&step.id);
        match step.resource {
            Resource::Reboot(_) => differs || step.after.iter().any(|it| differing.contains(&it)),
            _ => differs && step.disruptive,
        }
    })
}

#[cfg(test)]
mod tests;
