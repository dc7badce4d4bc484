//! `systemdUnit`.

use casement_resource::{
    Code, Diff, Enablement, Failure, Prior, Resource, SystemdUnit, SystemdUnitFacts, UnitSeen,
    UnitState,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for SystemdUnit {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let seen = at.platform.unit(&self.name)?;
        Ok(self.diff(&SystemdUnitFacts { seen }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let seen = at.platform.unit(&self.name)?;
        if seen.is_none() && self.state == UnitState::On {
            return Err(Failure::new(
                Code::Unsupported,
                format!("this host has no unit `{}`", self.name),
                "install what brings it, or take the step out",
            )
            .values("a unit", "no such unit"));
        }
        Ok(Prior::SystemdUnit(seen))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let seen = at.platform.unit(&self.name)?.unwrap_or(ABSENT);
        let wanted = self.enablement(seen.enablement);
        let running = self.state == UnitState::On;
        bring(self, at, seen, wanted, running)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::SystemdUnit(before) = prior else {
            return Err(wrong_prior("a unit", prior));
        };
        let before = before.unwrap_or(ABSENT);
        match at.platform.unit(&self.name)? {
            // It was uninstalled since, with all that was said about it.
            None => Ok(()),
            Some(now) => {
                let enablement = Some(before.enablement).filter(|it| *it != now.enablement);
                bring(self, at, now, enablement, before.running)
            }
        }
    }
}

/// What a name without a unit amounts to.
const ABSENT: UnitSeen = UnitSeen {
    enablement: Enablement::Fixed,
    running: false,
};

/// Stops before it masks, so that what stops can still be asked to, and starts
/// only what is no longer masked.
fn bring(
    unit: &SystemdUnit,
    at: &Place<'_>,
    now: UnitSeen,
    enablement: Option<Enablement>,
    running: bool,
) -> Result<()> {
    if now.running && !running {
        at.platform.set_unit_running(&unit.name, false)?;
    }
    if let Some(enablement) = enablement {
        at.platform.set_unit_enablement(&unit.name, enablement)?;
    }
    if running && !now.running {
        at.platform.set_unit_running(&unit.name, true)?;
    }
    Ok(())
}
