//! Status reports to the Service Control Manager (SCM), and the controls that it
//! sends.

use std::time::Duration;

use casement_resource::Failure;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{
    self, ServiceControlHandlerResult, ServiceStatusHandle,
};

use super::failure::system;
use super::retry_timer::RetryTimer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Requested,
    /// The host shuts down and waits for the service.
    Preshutdown,
}

/// `None` for a control that does not stop the service.
fn stop_reason(control: &ServiceControl) -> Option<StopReason> {
    match control {
        ServiceControl::Stop | ServiceControl::Shutdown => Some(StopReason::Requested),
        ServiceControl::Preshutdown => Some(StopReason::Preshutdown),
        _ => None,
    }
}

/// Reports the status of one service.
pub struct StatusReporter {
    status: ServiceStatusHandle,
    checkpoint: u32,
}

impl StatusReporter {
    /// `on_stop` is called when the service has to stop.
    pub fn new(
        name: &str,
        on_stop: impl Fn(StopReason) + Clone + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        #[cfg(feature = "testing")]
        testing::register_handler(on_stop.clone());
        let handler = move |control| match (stop_reason(&control), control) {
            (Some(reason), _) => {
                on_stop(reason);
                ServiceControlHandlerResult::NoError
            }
            (None, ServiceControl::Interrogate) => ServiceControlHandlerResult::NoError,
            _ => ServiceControlHandlerResult::NotImplemented,
        };
        let status = service_control_handler::register(name, handler).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            system(
                format_args!("register the control handler of the service `{name}`"),
                &error,
            )
        })?;
        Ok(Self {
            status,
            checkpoint: 0,
        })
    }

    /// Starting or stopping; each call advances the checkpoint.
    pub fn pending(&mut self, state: ServiceState) {
        self.checkpoint += 1;
        self.report(state, ServiceExitCode::NO_ERROR);
    }

    pub fn set(&mut self, state: ServiceState) {
        self.checkpoint = 0;
        self.report(state, ServiceExitCode::NO_ERROR);
    }

    /// Retried: if the report gets lost, the SCM considers the service as stopping
    /// forever.
    pub fn stopped(&mut self, code: ServiceExitCode) {
        const REPORT_TIMEOUT: Duration = Duration::from_secs(5);
        self.checkpoint = 0;
        let mut retry_timer = RetryTimer::new(REPORT_TIMEOUT);
        while !self.report(ServiceState::Stopped, code) && retry_timer.wait() {}
    }

    /// Returns whether the SCM accepted the report.
    fn report(&mut self, state: ServiceState, exit_code: ServiceExitCode) -> bool {
        // Preshutdown, because shutdown leaves a service only a few seconds.
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

/// Sends the preshutdown control without the SCM, which accepts it only from Windows
/// itself.
#[cfg(feature = "testing")]
pub mod testing {
    use std::sync::{Mutex, PoisonError};

    use windows_service::service::ServiceControl;

    use super::{StopReason, stop_reason};

    type Handler = Box<dyn Fn(StopReason) + Send + Sync>;

    static SERVICE: Mutex<Option<Handler>> = Mutex::new(None);

    pub(super) fn register_handler(handler: impl Fn(StopReason) + Send + Sync + 'static) {
        let mut service = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
        *service = Some(Box::new(handler));
    }

    /// Sends preshutdown to the service in this process.
    pub fn send_preshutdown() {
        let service = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(handler), Some(reason)) =
            (&*service, stop_reason(&ServiceControl::Preshutdown))
        {
            handler(reason);
        }
    }
}
