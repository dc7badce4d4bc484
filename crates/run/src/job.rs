//! Converges one host to one document: observe, deliver, change.

use casement_resource::wire::{Event, EventKind, Tally};
use casement_resource::{NodeDocument, Resource, RunId};

use crate::apply::RunEvent;
use crate::blob_source::{BlobProgress, Blobs};
use crate::cancel::CancelToken;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::host_lock::when_unlocked;
use crate::run_host::{ObservedDocument, RunHost};
use crate::secrets::Secrets;
use crate::unavailable::UnavailablePermit;

pub struct Job<'a> {
    pub blobs: &'a Blobs,
    /// The prefix of the run id; each document appends its stage.
    pub run: &'a str,
    /// Checked until the host is changed; from then on the agent handles cancellation.
    pub cancel: &'a CancelToken,
    pub on_event: &'a (dyn Fn(RunEvent<'_>) + Sync),
}

impl Job<'_> {
    /// Returns the number of changes. A host that is in sync costs at most one observation;
    /// one that becomes unavailable holds `permit` from here on.
    pub async fn converge<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        document: &NodeDocument,
        secrets: &impl Secrets,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        match self.observe(host, document).await? {
            Some(pending) => self.change(host, pending, secrets, permit).await,
            None => Ok(0),
        }
    }

    /// What [`Self::change`] has to change; `None` if the host is in sync.
    pub(crate) async fn observe<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        document: &NodeDocument,
    ) -> Result<Option<ObservedDocument>, RunError> {
        let (name, stage) = (host.agent.name().to_owned(), document.stage());
        let observed = self.cancel.run(&name, host.observe(document)).await?;
        (self.on_event)(RunEvent::Observed {
            host: &name,
            document,
            observed: &observed,
        });
        if !observed.in_sync() {
            return Ok(Some(ObservedDocument::new(document.clone(), observed)));
        }
        host.set_converged(document);
        let in_sync = u32::try_from(observed.steps.len()).unwrap_or(u32::MAX);
        let tally = Tally {
            in_sync,
            ..Tally::default()
        };
        let host = &name;
        (self.on_event)(RunEvent::Finished { host, stage, tally });
        Ok(None)
    }

    /// Returns the number of changes.
    pub(crate) async fn change<H: HostAgent>(
        &self,
        host: &mut RunHost<'_, H>,
        pending: ObservedDocument,
        secrets: &impl Secrets,
        permit: &mut UnavailablePermit<'_>,
    ) -> Result<u32, RunError> {
        let ObservedDocument {
            document, observed, ..
        } = &pending;
        let (name, stage) = (host.agent.name().to_owned(), document.stage());
        let on_progress = |progress: BlobProgress<'_>| {
            let host = &name;
            (self.on_event)(RunEvent::BlobProgress { host, progress });
        };
        let deliver = host
            .agent
            .deliver(&observed.missing, self.blobs, &on_progress);
        self.cancel.run(&name, deliver).await?;
        let waiting = |reason| {
            let host = &name;
            (self.on_event)(RunEvent::Waiting { host, reason });
        };
        let on_wait = || waiting("waiting until another host is available again".to_owned());
        let acquire = permit.acquire(document, observed, on_wait);
        self.cancel.run(&name, acquire).await?;
        let run = format!("{}-{}", self.run, stage.name());
        let run: RunId = run.parse().map_err(casement_plan::PlanError::from)?;
        let on_step = |event: &Event| {
            let host = &name;
            (self.on_event)(RunEvent::Step { host, stage, event });
            if let Some(reason) = reboot_notice(document, event) {
                waiting(reason);
            }
        };
        host.begin_change();
        let converge = async || host.agent.converge(&run, document, secrets, &on_step).await;
        let tally = when_unlocked(self.cancel, waiting, converge).await?;
        host.set_converged(document);
        let host = &name;
        (self.on_event)(RunEvent::Finished { host, stage, tally });
        // At least the document that the agent reconciles with has changed.
        Ok(tally.changed.max(1))
    }
}

/// Announces a reboot, during which the host is unreachable.
pub(crate) fn reboot_notice(document: &NodeDocument, event: &Event) -> Option<String> {
    let EventKind::StepBegan { id, .. } = &event.kind else {
        return None;
    };
    let Resource::Reboot(reboot) = &document.step(id)?.resource else {
        return None;
    };
    let minutes = reboot.max_duration().as_secs().div_ceil(60);
    let reason = &reboot.reason;
    Some(format!("rebooting for {reason}; timeout {minutes} min"))
}
