//! The service `casement` itself.
#![allow(unsafe_code, reason = "an event of the Windows API")]

use std::ffi::OsString;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::{Arc, Mutex, OnceLock};

use casement_resource::{Code, Failure};
use windows_service::service::{ServiceExitCode, ServiceState};
use windows_service::{define_windows_service, service_dispatcher};
use windows_sys::Win32::System::Threading::SetEvent;

use super::Windows;
use super::failure::system;
use super::gate::{Door, SERVICE};
use super::pipe;
use super::report::Reporter;
use crate::serve::Life;
use crate::state::Layout;

/// What the dispatcher's callback, which takes no arguments of ours, needs.
static TASK: OnceLock<Task> = OnceLock::new();

struct Task {
    layout: Layout,
    outcome: Mutex<Result<(), Failure>>,
}

/// Serves until the service is stopped. Only the Service Control Manager can
/// start a process that may call this.
pub fn run(layout: &Layout) -> Result<(), Failure> {
    let task = TASK.get_or_init(|| Task {
        layout: layout.clone(),
        outcome: Mutex::new(Ok(())),
    });
    service_dispatcher::start(SERVICE, ffi_serve).map_err(|error| {
        Failure::new(
            Code::ServiceFailed,
            format!("`serve` is for the Service Control Manager: {error}"),
            "apply from the controller: it registers and starts the service",
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
    if let Ok(mut place) = task.outcome.lock() {
        *place = outcome;
    }
}

fn serve_until_stopped(layout: &Layout) -> Result<(), Failure> {
    let (ask, stop) = stop_event()?;
    let ask = Arc::new(ask);
    // Also when the host goes down: nothing is repaired while all is ending.
    let mut report = Reporter::new(SERVICE, move |_| {
        // SAFETY: an open event.
        unsafe { SetEvent(ask.as_raw_handle()) };
    })?;
    report.pending(ServiceState::StartPending);
    let outcome = Door::open(stop).and_then(|door| {
        report.now(ServiceState::Running);
        let platform = Windows {
            layout: layout.clone(),
        };
        crate::serve::serve(
            Arc::new(platform),
            layout,
            Box::new(door),
            Life::UntilStopped,
        )
    });
    report.stopped(match outcome {
        Ok(()) => ServiceExitCode::NO_ERROR,
        Err(_) => ServiceExitCode::ServiceSpecific(1),
    });
    outcome
}

/// One event, owned twice: by who sets it and by who waits for it.
fn stop_event() -> Result<(OwnedHandle, OwnedHandle), Failure> {
    let made = pipe::event().and_then(|event| Ok((event.try_clone()?, event)));
    made.map_err(|error| system("make an event", &error))
}
