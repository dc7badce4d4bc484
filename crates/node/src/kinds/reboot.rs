//! `reboot`.
//!
//! The record exists from the order to reboot until nothing waits for one any
//! more, and holds the boot in which the order was given: what still waits in
//! a later boot is not for another reboot to mend.

use std::time::{Duration, Instant};

use casement_resource::{
    Code, Diff, Failure, Prior, Reboot, RebootFacts, Resource, UpdateInstalled, WaitsForBoot,
    WindowsFeatureFacts,
};

use super::{Kind, Place, update, wrong_prior};
use crate::platform::Result;

impl Kind for Reboot {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let facts = facts(self, at)?;
        let diff = self.diff(&facts);
        if !diff.is_right() && !self.allowed {
            return Err(Failure::new(
                Code::Needed,
                format!("the host needs a reboot for {}", self.reason),
                "reboot it, then apply again; `windows.reboot: auto` lets casement do it",
            )
            .values("`windows.reboot: never`", format!("{facts} waits")));
        }
        Ok(diff)
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Reboot(at.platform.boot()?))
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let Prior::Reboot(ordered_in) = *prior else {
            return Err(wrong_prior("a reboot", prior));
        };
        if at.platform.boot()? != ordered_in {
            return Err(still_waiting(self, at)?);
        }
        at.platform.begin_reboot()?;
        let limit = Duration::from_secs(u64::from(self.timeout_seconds));
        wait_for_the_end(at, limit)
    }

    fn undo(&self, _at: &Place<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
}

/// Those that the reboot is for and that wait for it.
fn facts(reboot: &Reboot, at: &Place<'_>) -> Result<RebootFacts> {
    let mut waiting = Vec::new();
    // To ask for a feature takes seconds, and for the signs of a reboot no time.
    let any = !at.platform.waiting_for_reboot()?.is_empty();
    for one in &reboot.waits {
        let waits = match one {
            WaitsForBoot::Feature(name) => any && waits(at.platform.windows_feature(name)?),
            WaitsForBoot::Hostname => at.platform.hostname()?.after_boot,
            WaitsForBoot::Update(article) => {
                update::installed(article, at)? == UpdateInstalled::AfterBoot
            }
        };
        if waits {
            waiting.push(one.clone());
        }
    }
    Ok(RebootFacts { waiting })
}

fn waits(feature: WindowsFeatureFacts) -> bool {
    use WindowsFeatureFacts::{OffAfterBoot, OnAfterBoot};
    matches!(feature, OnAfterBoot | OffAfterBoot)
}

/// With everything else that waits: an update that fails at each boot takes
/// features with it.
fn still_waiting(reboot: &Reboot, at: &Place<'_>) -> Result<Failure> {
    let mut waiting = vec![facts(reboot, at)?.to_string()];
    waiting.extend(at.platform.waiting_for_reboot()?);
    Ok(Failure::new(
        Code::NotConverged,
        format!(
            "the host was rebooted for {}, and it still waits",
            reboot.reason
        ),
        "look at what waits (an update that fails at each boot, for example), then apply again",
    )
    .values("nothing waits", waiting.join(", ")))
}

/// Waits for the end of this process. The run goes on in the next boot.
fn wait_for_the_end(at: &Place<'_>, limit: Duration) -> Result<()> {
    const STEP: Duration = Duration::from_millis(200);
    let started = Instant::now();
    let mut paused = Duration::ZERO;
    // A simulated host's pauses take no time.
    while started.elapsed().max(paused) < limit {
        at.platform.pause(STEP);
        paused += STEP;
    }
    let seconds = limit.as_secs();
    Err(Failure::new(
        Code::TimedOut,
        format!("the host was told to reboot, and is still up after {seconds} s"),
        "see what holds it up, reboot it, then apply again",
    ))
}
