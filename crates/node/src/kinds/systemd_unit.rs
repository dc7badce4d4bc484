//! `systemdUnit`.

use casement_resource::{
    Code, Diff, Enablement, Failure, ObservedUnit, Prior, Resource, SystemdUnit, SystemdUnitFacts,
    UnitState,
};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for SystemdUnit {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let current = context.platform.unit(&self.name)?;
        Ok(self.diff(&SystemdUnitFacts { observed: current }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let current = context.platform.unit(&self.name)?;
        if current.is_none() && self.state == UnitState::On {
            return Err(Failure::new(
                Code::Unsupported,
                format!("unit `{}` not found", self.name),
                "install the package that provides it, or remove the step",
            )
            .values("a unit", "no such unit"));
        }
        Ok(Prior::SystemdUnit(current))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let current = context.platform.unit(&self.name)?.unwrap_or(ABSENT);
        let wanted = self.enablement(current.enablement);
        let running = self.state == UnitState::On;
        set_state(self, context, current, wanted, running)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::SystemdUnit(before) = prior else {
            return Err(wrong_prior("a unit", prior));
        };
        let before = before.unwrap_or(ABSENT);
        match context.platform.unit(&self.name)? {
            // Uninstalled since: nothing to restore.
            None => Ok(()),
            Some(now) => {
                let enablement = Some(before.enablement).filter(|it| *it != now.enablement);
                set_state(self, context, now, enablement, before.running)
            }
        }
    }
}

/// The state of a name without a unit.
const ABSENT: ObservedUnit = ObservedUnit {
    enablement: Enablement::Fixed,
    running: false,
};

/// Stops before masking, while systemd still has the unit file, and starts after
/// unmasking.
fn set_state(
    unit: &SystemdUnit,
    context: &KindContext<'_>,
    now: ObservedUnit,
    enablement: Option<Enablement>,
    running: bool,
) -> Result<()> {
    if now.running && !running {
        context.platform.set_unit_running(&unit.name, false)?;
    }
    if let Some(enablement) = enablement {
        context
            .platform
            .set_unit_enablement(&unit.name, enablement)?;
    }
    if running && !now.running {
        context.platform.set_unit_running(&unit.name, true)?;
    }
    Ok(())
}
