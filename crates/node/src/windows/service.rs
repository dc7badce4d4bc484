//! The body of the service `casement`.
#![allow(unsafe_code, reason = "an event of the Windows API")]

use std::ffi::OsString;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::{Arc, Mutex, OnceLock};

use casement_resource::service_names::CASEMENT;
use casement_resource::{Code, Failure};
use windows_service::service::{ServiceExitCode, ServiceState};
use windows_service::{define_windows_service, service_dispatcher};
use windows_sys::Win32::System::Threading::SetEvent;

use super::Windows;
use super::failure::system;
use super::pipe;
use super::service_pipe::PipeListener;
use super::status::StatusReporter;
use crate::serve::Lifetime;
use crate::state::Layout;

/// Input and result of the dispatcher callback, which cannot take parameters.
static TASK: OnceLock<Task> = OnceLock::new();

struct Task {
    layout: Layout,
    outcome: Mutex<Result<(), Failure>>,
}

/// Returns when the service has stopped. Only a process started by the Service
/// Control Manager may call this.
pub fn run(layout: &Layout) -> Result<(), Failure> {
    let task = TASK.get_or_init(|| Task {
        layout: layout.clone(),
        outcome: Mutex::new(Ok(())),
    });
    service_dispatcher::start(CASEMENT, ffi_serve).map_err(|error| {
        Failure::new(
            Code::ServiceFailed,
            format!("`serve` can only be started by the Service Control Manager: {error}"),
            "run `casement apply` from the controller, which registers and starts the service",
        )
    })?;
    match task.outcome.lock() {
        Ok(outcome) => outcome.clone(),
        Err(poisoned) => poisoned.into_inner().clone(),
    }
}

define_windows_service!(ffi_serve, serve);

fn serve(_arguments: Vec<OsString>) {
    let Some(task) = TASK.get() else { return };
    let outcome = serve_until_stopped(&task.layout);
    if let Ok(mut slot) = task.outcome.lock() {
        *slot = outcome;
    }
}

fn serve_until_stopped(layout: &Layout) -> Result<(), Failure> {
    let (signal, stop) = stop_event()?;
    let signal = Arc::new(signal);
    // Also on preshutdown: nothing is repaired while the host shuts down.
    let mut status = StatusReporter::new(CASEMENT, move |_| {
        // SAFETY: an open event.
        unsafe { SetEvent(signal.as_raw_handle()) };
    })?;
    status.pending(ServiceState::StartPending);
    let outcome = PipeListener::open(stop).and_then(|listener| {
        status.set(ServiceState::Running);
        let platform = Windows {
            layout: layout.clone(),
        };
        crate::serve::serve(
            Arc::new(platform),
            layout,
            Box::new(listener),
            Lifetime::UntilStopped,
        )
    });
    status.stopped(match outcome {
        Ok(()) => ServiceExitCode::NO_ERROR,
        Err(_) => ServiceExitCode::ServiceSpecific(1),
    });
    outcome
}

/// Two handles of one event: one to signal it, one to wait for it.
fn stop_event() -> Result<(OwnedHandle, OwnedHandle), Failure> {
    let event = pipe::event().and_then(|event| Ok((event.try_clone()?, event)));
    event.map_err(|error| system("create an event", &error))
}
