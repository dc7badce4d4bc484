//! One document on one host: look, bring, change.

use casement_resource::wire::{Event, Tally, What};
use casement_resource::{NodeDocument, Resource, RunId};

use crate::apply::Happening;
use crate::error::RunError;
use crate::host::Host;
use crate::secrets::Secrets;
use crate::source::{Blobs, Bringing};
use crate::stop::Stop;
use crate::turn::in_turn;
use crate::unavailable::Away;

/// What is the same for all documents of a run.
pub struct Job<'a> {
    /// The files behind the documents.
    pub blobs: &'a Blobs,
    /// The name of the run; each document adds its stage.
    pub run: &'a str,
    /// Heeded until a host is changed; the host heeds it from then on.
    pub stop: &'a Stop,
    /// Hears what happens.
    pub tell: &'a (dyn Fn(Happening<'_>) + Sync),
}

impl Job<'_> {
    /// Makes a host what a document says, and says how many things changed. A host
    /// that is right already pays for the look only; one that goes away counts as
    /// away from here on.
    pub async fn converge<H: Host>(
        &self,
        host: &mut H,
        document: &NodeDocument,
        secrets: &impl Secrets,
        away: &mut Away<'_>,
    ) -> Result<u32, RunError> {
        let (name, stage) = (host.name().to_owned(), document.stage());
        let seen = self.stop.heeded(&name, host.observe(document)).await?;
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
            return Ok(0);
        }
        let bringing = |how: Bringing<'_>| {
            let host = &name;
            (self.tell)(Happening::Bringing { host, how });
        };
        let bring = host.bring(&seen.missing, self.blobs, &bringing);
        self.stop.heeded(&name, bring).await?;
        let waits = || {
            let (host, reason) = (name.as_str(), "waits until another host is back".to_owned());
            (self.tell)(Happening::Waiting { host, reason });
        };
        let leave = away.leave(document, &seen, waits);
        self.stop.heeded(&name, leave).await?;
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
        let tally = in_turn(self.stop, waiting, converge).await?;
        let host = &name;
        (self.tell)(Happening::Finished { host, stage, tally });
        // What the agent keeps has changed, if nothing else has.
        Ok(tally.changed.max(1))
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
