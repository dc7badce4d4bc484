//! `service`.

use std::time::Duration;

use casement_resource::{
    ConditionFacts, Diff, Prior, Resource, Run, Service, ServiceFacts, ServiceState,
};

use super::{Kind, KindContext, wait_for, wrong_prior};
use crate::platform::Result;

impl Kind for Service {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(self, context)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Service(
            context.platform.save_service(&self.definition.name)?,
        ))
    }

    /// Stops the service before changing its definition, so that a running service
    /// always runs with the current one.
    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let name = &self.definition.name;
        let (install, stop, was_running) = match facts(self, context)? {
            ServiceFacts::Absent => (true, false, false),
            ServiceFacts::Present { seen, stale, .. } => {
                let differs = !self.definition.diff(&seen).is_empty();
                let running = seen.state != ServiceState::Stopped;
                (differs, running && (differs || stale), running)
            }
        };
        let dependents = if stop {
            context.platform.stop_service(name)?
        } else {
            Vec::new()
        };
        if install {
            context.platform.install_service(&self.definition)?;
        }
        if self.run == Run::Running || was_running {
            context.platform.start_service(name)?;
            if let Some(ready) = &self.definition.ready {
                let timeout = Duration::from_secs(u64::from(self.definition.ready_seconds));
                wait_for(context, ready, timeout)?;
            }
        }
        for dependent in dependents.iter().rev() {
            context.platform.start_service(dependent)?;
        }
        Ok(())
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Service(saved) = prior else {
            return Err(wrong_prior("a service", prior));
        };
        let name = &self.definition.name;
        context.platform.stop_service(name)?;
        match saved {
            None => context.platform.delete_service(name),
            Some(saved) => context.platform.restore_service(name, saved),
        }
    }
}

fn facts(service: &Service, context: &KindContext<'_>) -> Result<ServiceFacts> {
    let Some(seen) = context.platform.service(&service.definition.name)? else {
        return Ok(ServiceFacts::Absent);
    };
    let ready = match &service.definition.ready {
        Some(ready) if seen.state == ServiceState::Running => {
            Some(context.platform.condition(ready)? == ConditionFacts::Holds)
        }
        _ => None,
    };
    Ok(ServiceFacts::Present {
        seen: Box::new(seen),
        stale: context.stale,
        ready,
    })
}
