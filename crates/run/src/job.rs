//! One document on one host: look, bring, change.

use casement_resource::wire::{Event, Tally, What};
use casement_resource::{NodeDocument, Resource, RunId};

use tokio::sync::SemaphorePermit;

use crate::apply::Happening;
use crate::error::RunError;
use crate::host::Host;
use crate::secrets::Secrets;
use crate::source::{Blobs, Bringing};
use crate::stop::Stop;
use crate::turn::in_turn;
use crate::unavailable::Unavailable;

/// What is the same for all documents of a run.
pub struct Job<'a> {
    /// The files behind the documents.
    pub blobs: &'a Blobs,
    /// The name of the run; each document adds its stage.
    pub run: &'a str,
    /// Heeded before a host is touched; the host heeds it from then on.
    pub stop: &'a Stop,
    /// How many hosts may be away at once.
    pub unavailable: &'a Unavailable,
    /// Hears what happens.
    pub tell: &'a (dyn Fn(Happening<'_>) + Sync),
}

/// A document that was carried out.
#[derive(Debug, Default)]
pub struct Done<'a> {
    /// How many things changed.
    pub changed: u32,
    /// The host counts as away until this is dropped.
    _away: Option<SemaphorePermit<'a>>,
}

impl<'a> Job<'a> {
    /// Makes a host what a document says. A host that is right already pays for
    /// the look only.
    pub async fn converge<H: Host>(
        &self,
        host: &mut H,
        document: &NodeDocument,
        secrets: &impl Secrets,
    ) -> Result<Done<'a>, RunError> {
        let (name, stage) = (host.name().to_owned(), document.stage());
        if self.stop.is_asked() {
            return Err(RunError::Stopped { host: name });
        }
        let seen = host.observe(document).await?;
        (self.tell)(Happening::Seen {
            host: &name,
            stage,
            observed: &seen,
        });
        if seen.is_right() {
            let right = u32::try_from(seen.steps.len()).unwrap_or(u32::MAX);
            let tally = Tally {
                right,
                ..Tally::default()
            };
            let host = &name;
            (self.tell)(Happening::Finished { host, stage, tally });
            return Ok(Done::default());
        }
        let bringing = |how: Bringing<'_>| {
            let host = &name;
            (self.tell)(Happening::Bringing { host, how });
        };
        host.bring(&seen.missing, self.blobs, &bringing).await?;
        let waits = || {
            let (host, reason) = (name.as_str(), "waits until another host is back".to_owned());
            (self.tell)(Happening::Waiting { host, reason });
        };
        let away = self.unavailable.turn(document, &seen, waits).await;
        let run = format!("{}-{}", self.run, stage.name());
        let run: RunId = run.parse().map_err(casement_plan::PlanError::from)?;
        let tell = |event: &Event| {
            let host = &name;
            (self.tell)(Happening::Step { host, stage, event });
            if let Some(reason) = going_away(document, event) {
                (self.tell)(Happening::Waiting { host, reason });
            }
        };
        let waiting = |reason| {
            let host = &name;
            (self.tell)(Happening::Waiting { host, reason });
        };
        let converge = async || host.converge(&run, document, secrets, &tell).await;
        let tally = in_turn(waiting, converge).await?;
        let host = &name;
        (self.tell)(Happening::Finished { host, stage, tally });
        Ok(Done {
            // What the agent keeps has changed, if nothing else has.
            changed: tally.changed.max(1),
            _away: away,
        })
    }
}

/// What a person should know before a host is not to be seen for a while.
pub(crate) fn going_away(document: &NodeDocument, event: &Event) -> Option<String> {
    let What::StepBegan { id, .. } = &event.what else {
        return None;
    };
    let Resource::Reboot(reboot) = &document.step(id)?.resource else {
        return None;
    };
    let minutes = reboot.longest().as_secs().div_ceil(60);
    let reason = &reboot.reason;
    Some(format!(
        "reboots for {reason}; it has {minutes} minutes to come back"
    ))
}
