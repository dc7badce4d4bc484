//! `reboot`.
//!
//! The record exists from the reboot request until nothing is pending any more, and
//! has the boot in which it was requested: what is still pending in a later boot is
//! not fixed by another reboot.

use std::time::{Duration, Instant};

use casement_resource::{
    Code, Diff, Failure, PendingChange, Prior, Reboot, RebootFacts, Resource, UpdateInstalled,
    WindowsFeatureFacts,
};

use super::{Kind, KindContext, update, wrong_prior};
use crate::platform::Result;

impl Kind for Reboot {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let facts = facts(self, context)?;
        let diff = self.diff(&facts);
        if !diff.in_sync() && !self.allowed {
            return Err(Failure::new(
                Code::ActionRequired,
                format!("the host must be rebooted for {}", self.reason),
                "reboot it, then run `casement apply` again, or set `windows.reboot: auto`",
            )
            .values("`windows.reboot: never`", format!("pending: {facts}")));
        }
        Ok(diff)
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Reboot(context.platform.boot()?))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let Prior::Reboot(requested_in) = *prior else {
            return Err(wrong_prior("a reboot", prior));
        };
        if context.platform.boot()? != requested_in {
            return Err(still_pending(self, context)?);
        }
        context.platform.begin_reboot()?;
        let timeout = Duration::from_secs(u64::from(self.timeout_seconds));
        wait_for_shutdown(context, timeout)
    }

    fn undo(&self, _context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
}

/// The changes of this resource that are pending.
fn facts(reboot: &Reboot, context: &KindContext<'_>) -> Result<RebootFacts> {
    let mut pending = Vec::new();
    // Querying a feature takes seconds; the pending-reboot flags are fast.
    let reboot_pending = !context.platform.pending_reboots()?.is_empty();
    for change in &reboot.waits {
        let is_pending = match change {
            PendingChange::Feature(name) => {
                reboot_pending && feature_pending(context.platform.windows_feature(name)?)
            }
            PendingChange::Hostname => context.platform.hostname()?.after_boot,
            PendingChange::Update(article) => {
                update::installed(article, context)? == UpdateInstalled::AfterBoot
            }
        };
        if is_pending {
            pending.push(change.clone());
        }
    }
    Ok(RebootFacts { waiting: pending })
}

fn feature_pending(feature: WindowsFeatureFacts) -> bool {
    use WindowsFeatureFacts::{OffAfterBoot, OnAfterBoot};
    matches!(feature, OnAfterBoot | OffAfterBoot)
}

/// Lists everything that is pending: an update that fails at each boot blocks
/// features too.
fn still_pending(reboot: &Reboot, context: &KindContext<'_>) -> Result<Failure> {
    let mut pending = vec![facts(reboot, context)?.to_string()];
    pending.extend(context.platform.pending_reboots()?);
    Ok(Failure::new(
        Code::NotConverged,
        format!(
            "the host was rebooted for {}, but a reboot is still pending",
            reboot.reason
        ),
        "fix what is pending, such as a failing update, then run `casement apply` again",
    )
    .values("nothing pending", pending.join(", ")))
}

/// Waits until the shutdown ends this process. The run resumes in the next boot.
fn wait_for_shutdown(context: &KindContext<'_>, timeout: Duration) -> Result<()> {
    const INTERVAL: Duration = Duration::from_millis(200);
    let started = Instant::now();
    let mut paused = Duration::ZERO;
    // Pauses on a simulated host take no time.
    while started.elapsed().max(paused) < timeout {
        context.platform.pause(INTERVAL);
        paused += INTERVAL;
    }
    let seconds = timeout.as_secs();
    Err(Failure::new(
        Code::TimedOut,
        format!("the host did not reboot within {seconds} s"),
        "check what blocks the shutdown, reboot it, then run `casement apply` again",
    ))
}
