//! `service`.

use std::time::Duration;

use casement_resource::{
    ConditionFacts, Diff, Prior, Resource, Run, Service, ServiceFacts, ServiceState,
};

use super::{Kind, Place, wait_for, wrong_prior};
use crate::platform::Result;

impl Kind for Service {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(self, at)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Service(
            at.platform.save_service(&self.definition.name)?,
        ))
    }

    /// The service is stopped before anything about it changes, so that one
    /// that runs always runs with what is written down.
    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let name = &self.definition.name;
        let (install, stop, was_running) = match observe(self, at)? {
            ServiceFacts::Absent => (true, false, false),
            ServiceFacts::Present { seen, stale, .. } => {
                let differs = !self.definition.diff(&seen).is_empty();
                let running = seen.state != ServiceState::Stopped;
                (differs, running && (differs || stale), running)
            }
        };
        let dependants = if stop {
            at.platform.stop_service(name)?
        } else {
            Vec::new()
        };
        if install {
            at.platform.install_service(&self.definition)?;
        }
        if self.run == Run::Running || was_running {
            at.platform.start_service(name)?;
            if let Some(ready) = &self.definition.ready {
                let limit = Duration::from_secs(u64::from(self.definition.ready_seconds));
                wait_for(at, ready, limit)?;
            }
        }
        for dependant in dependants.iter().rev() {
            at.platform.start_service(dependant)?;
        }
        Ok(())
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Service(saved) = prior else {
            return Err(wrong_prior("a service", prior));
        };
        let name = &self.definition.name;
        at.platform.stop_service(name)?;
        match saved {
            None => at.platform.delete_service(name),
            Some(saved) => at.platform.restore_service(name, saved),
        }
    }
}

fn observe(service: &Service, at: &Place<'_>) -> Result<ServiceFacts> {
    let Some(seen) = at.platform.service(&service.definition.name)? else {
        return Ok(ServiceFacts::Absent);
    };
    let ready = match &service.definition.ready {
        Some(ready) if seen.state == ServiceState::Running => {
            Some(at.platform.condition(ready)? == ConditionFacts::Holds)
        }
        _ => None,
    };
    Ok(ServiceFacts::Present {
        seen: Box::new(seen),
        stale: at.stale,
        ready,
    })
}
