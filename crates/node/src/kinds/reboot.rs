//! `reboot`.
//!
//! The record exists from the order to reboot until nothing waits for one any
//! more, and holds the boot in which the order was given: what still waits in
//! a later boot is not for another reboot to mend.

use std::time::{Duration, Instant};

use casement_resource::{Code, Diff, Failure, Prior, Reboot, RebootFacts, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Reboot {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let waiting = at.platform.waiting_for_reboot()?;
        Ok(self.diff(&RebootFacts { waiting }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Reboot(at.platform.boot()?))
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let Prior::Reboot(ordered_in) = *prior else {
            return Err(wrong_prior("a reboot", prior));
        };
        if at.platform.boot()? != ordered_in {
            let waiting = at.platform.waiting_for_reboot()?;
            return Err(Failure::new(
                Code::NotConverged,
                "the host was rebooted, and still says that it waits for a reboot",
                "look at what waits (an update that fails at each boot, for example), then apply again",
            )
            .values("nothing waits", waiting.join(", ")));
        }
        at.platform.begin_reboot()?;
        let limit = Duration::from_secs(u64::from(self.timeout_seconds));
        wait_for_the_end(at, limit)
    }

    fn undo(&self, _at: &Place<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
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
