//! What a service tells the Service Control Manager, and hears from it.

use std::time::Duration;

use casement_resource::Failure;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{
    self, ServiceControlHandlerResult, ServiceStatusHandle,
};

use super::failure::system;
use super::patience::Patience;

/// Why a service is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Somebody wants it to.
    Stop,
    /// The host goes down, and waits for it.
    GoingDown,
}

/// What a control asks for; none where it asks for nothing that ends.
fn ending(control: &ServiceControl) -> Option<Ending> {
    match control {
        ServiceControl::Stop | ServiceControl::Shutdown => Some(Ending::Stop),
        ServiceControl::Preshutdown => Some(Ending::GoingDown),
        _ => None,
    }
}

/// The service's line to the manager.
pub struct Reporter {
    status: ServiceStatusHandle,
    checkpoint: u32,
}

impl Reporter {
    /// Takes the line up; `end` is called when the service is told to stop.
    pub fn new(
        name: &str,
        end: impl Fn(Ending) + Clone + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        #[cfg(feature = "testing")]
        direct::connect(end.clone());
        let hear = move |control| match (ending(&control), control) {
            (Some(why), _) => {
                end(why);
                ServiceControlHandlerResult::NoError
            }
            (None, ServiceControl::Interrogate) => ServiceControlHandlerResult::NoError,
            _ => ServiceControlHandlerResult::NotImplemented,
        };
        let status = service_control_handler::register(name, hear).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            system(format_args!("serve `{name}`"), &error)
        })?;
        Ok(Self {
            status,
            checkpoint: 0,
        })
    }

    /// It starts or stops, and makes progress.
    pub fn pending(&mut self, state: ServiceState) {
        self.checkpoint += 1;
        self.say(state, ServiceExitCode::NO_ERROR);
    }

    /// It has come to another state.
    pub fn now(&mut self, state: ServiceState) {
        self.checkpoint = 0;
        self.say(state, ServiceExitCode::NO_ERROR);
    }

    /// It has stopped, for that reason. Said until it is heard: the manager
    /// would take a service for stopping that has long ended.
    pub fn stopped(&mut self, code: ServiceExitCode) {
        const TO_HEAR: Duration = Duration::from_secs(5);
        self.checkpoint = 0;
        let mut patience = Patience::new(TO_HEAR);
        while !self.say(ServiceState::Stopped, code) && patience.wait() {}
    }

    /// Whether the manager heard it.
    fn say(&mut self, state: ServiceState, exit_code: ServiceExitCode) -> bool {
        // Before the shutdown proper, which leaves a service a few seconds.
        let stop = ServiceControlAccept::STOP | ServiceControlAccept::PRESHUTDOWN;
        let status = ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: state,
            controls_accepted: match state {
                ServiceState::Running | ServiceState::Paused | ServiceState::StartPending => stop,
                _ => ServiceControlAccept::empty(),
            },
            exit_code,
            checkpoint: self.checkpoint,
            wait_hint: match self.checkpoint {
                0 => Duration::ZERO,
                _ => Duration::from_secs(10),
            },
            process_id: None,
        };
        self.status.set_service_status(status).is_ok()
    }
}

/// A control without a manager: none lets anybody but Windows itself send this
/// one.
#[cfg(feature = "testing")]
pub mod direct {
    use std::sync::{Mutex, PoisonError};

    use windows_service::service::ServiceControl;

    use super::{Ending, ending};

    type Hear = Box<dyn Fn(Ending) + Send + Sync>;

    static SERVICE: Mutex<Option<Hear>> = Mutex::new(None);

    pub(super) fn connect(hear: impl Fn(Ending) + Send + Sync + 'static) {
        let mut service = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
        *service = Some(Box::new(hear));
    }

    /// Tells the service of this process what Windows tells it before it goes
    /// down.
    pub fn going_down() {
        let service = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(hear), Some(why)) = (&*service, ending(&ServiceControl::Preshutdown)) {
            hear(why);
        }
    }
}
