//! `casement-node host NAME`: the executable of every service of casement.
//!
//! It waits until the dependencies of the service are ready, starts the program,
//! captures its output, restarts it when it exits, and stops it gracefully. The
//! status in the Service Control Manager is accurate: running only while the program
//! runs, paused while a restart is pending (a service that is "starting" could not
//! be stopped), and stopped with the exit code of the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use casement_resource::host_paths::windows_log;
use casement_resource::{Code, Failure};
use windows_service::service::{ServiceExitCode, ServiceState};
use windows_service::{define_windows_service, service_dispatcher};

use super::status::{StatusReporter, StopReason};
use crate::shutdown::{self, Action};
use crate::state::Layout;

mod backoff;
mod child;
mod definition;
mod flags;
mod log;
mod program;
mod variables;

use backoff::Backoff;
use program::{Program, ProgramEvent};

/// Input and result of the dispatcher callback, which cannot take parameters.
static TASK: OnceLock<Task> = OnceLock::new();

struct Task {
    name: String,
    config: PathBuf,
    outcome: Mutex<Result<(), Failure>>,
}

/// Returns when the service has stopped. Only a process started by the Service
/// Control Manager may call this.
pub fn run(layout: &Layout, name: &str) -> Result<(), Failure> {
    let config = layout.service_file(name).ok_or_else(|| {
        Failure::new(
            Code::State,
            format!("`{name}` is not a valid service name"),
            "use letters, digits, `-`, `_` and `.`",
        )
    })?;
    let task = TASK.get_or_init(|| Task {
        name: name.to_owned(),
        config,
        outcome: Mutex::new(Ok(())),
    });
    service_dispatcher::start(name, ffi_serve).map_err(|error| {
        Failure::new(
            Code::ServiceFailed,
            format!("`host {name}` can only be started by the Service Control Manager: {error}"),
            format!("run `sc start {name}` to start the service"),
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
    let outcome = ServiceHost::new(task).and_then(|mut host| host.run(task));
    if let Ok(mut slot) = task.outcome.lock() {
        *slot = outcome;
    }
}

struct ServiceHost {
    status: StatusReporter,
    stop: Receiver<StopReason>,
}

enum End {
    Stopped,
    Failed(Failure, ServiceExitCode),
}

impl ServiceHost {
    fn new(task: &Task) -> Result<Self, Failure> {
        let (sender, stop) = mpsc::channel();
        let status = StatusReporter::new(&task.name, move |reason| {
            // The receiver is gone when the service has ended already.
            let _ = sender.send(reason);
        })?;
        Ok(Self { status, stop })
    }

    fn run(&mut self, task: &Task) -> Result<(), Failure> {
        match self.serve(task) {
            End::Stopped => {
                self.status.stopped(ServiceExitCode::NO_ERROR);
                Ok(())
            }
            End::Failed(failure, code) => {
                self.status.stopped(code);
                Err(failure)
            }
        }
    }

    fn serve(&mut self, task: &Task) -> End {
        self.status.pending(ServiceState::StartPending);
        let mut program = match Program::prepare(&task.config) {
            Ok(program) => program,
            Err(failure) => {
                program::log_without_definition(&task.name, &failure.to_string());
                return End::Failed(failure, ServiceExitCode::ServiceSpecific(1));
            }
        };
        match self.wait_for_dependencies(&mut program) {
            Ok(true) => {}
            Ok(false) => return End::Stopped,
            Err(failure) => {
                program.log(&failure.to_string());
                return End::Failed(failure, ServiceExitCode::ServiceSpecific(2));
            }
        }
        let mut backoff = Backoff::new();
        loop {
            let started = Instant::now();
            if let Err((failure, code)) = program.start() {
                program.log(&failure.to_string());
                return End::Failed(failure, ServiceExitCode::Win32(code));
            }
            self.status.set(ServiceState::Running);
            let code = match program.wait(&self.stop) {
                ProgramEvent::StopRequested(StopReason::Requested) => {
                    return self.stop(&mut program);
                }
                ProgramEvent::StopRequested(StopReason::Preshutdown) => {
                    return self.shut_down(&mut program);
                }
                ProgramEvent::Exited(code) => code,
            };
            let pause = backoff.next(started.elapsed());
            program.log(&format!(
                "the program exited with exit code {code}; restarting in {} s",
                pause.as_secs()
            ));
            self.status.set(ServiceState::Paused);
            // A message and a closed channel both mean: stop.
            if self.stop.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                return End::Stopped;
            }
        }
    }

    /// Returns false if the service is stopped meanwhile.
    fn wait_for_dependencies(&mut self, program: &mut Program) -> Result<bool, Failure> {
        const POLL_INTERVAL: Duration = Duration::from_millis(100);
        let started_at = Instant::now();
        while let Some((service, timeout, found)) = program.unready_dependency()? {
            if started_at.elapsed() > timeout {
                return Err(Failure::new(
                    Code::TimedOut,
                    format!(
                        "the dependency `{service}` is not ready after {} s",
                        timeout.as_secs()
                    ),
                    format!("read the end of {}", windows_log(&service)),
                )
                .found(found));
            }
            self.status.pending(ServiceState::StartPending);
            if self.stop.recv_timeout(POLL_INTERVAL) != Err(mpsc::RecvTimeoutError::Timeout) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn stop(&mut self, program: &mut Program) -> End {
        const GRACE_PERIOD: Duration = Duration::from_secs(20);
        const KILL_TIMEOUT: Duration = Duration::from_secs(30);
        let started_at = Instant::now();
        let mut killed = false;
        // Report this first: the SCM must see that the control was received, however
        // long the program takes.
        self.status.pending(ServiceState::StopPending);
        program.request_stop();
        while !program.wait_for_exit(Duration::from_millis(500)) {
            self.status.pending(ServiceState::StopPending);
            if started_at.elapsed() > KILL_TIMEOUT {
                program.log("the program could not be killed; Windows ends it with the service");
                break;
            }
            if started_at.elapsed() > GRACE_PERIOD && !killed {
                program.log("the program did not stop in time; killing it");
                program.kill();
                killed = true;
            }
        }
        End::Stopped
    }

    /// The program stops after its dependents, so that a draining kubelet still has
    /// its container runtime.
    fn shut_down(&mut self, program: &mut Program) -> End {
        program.log("the host is shutting down");
        let started_at = Instant::now();
        let (mut waited, mut requested, mut killed) = (false, false, false);
        loop {
            self.status.pending(ServiceState::StopPending);
            let needed = program.running_dependent().filter(|_| !requested);
            match shutdown::next_action(started_at.elapsed(), needed.is_some()) {
                Action::Wait if !waited => {
                    let name = needed.unwrap_or_default();
                    program.log(&format!(
                        "waiting for `{name}`, which depends on this service, to stop"
                    ));
                    waited = true;
                }
                Action::Ask if !requested => {
                    program.request_stop();
                    requested = true;
                }
                Action::Kill if !killed => {
                    program.log("the program did not stop in time; killing it");
                    program.kill();
                    killed = true;
                }
                _ if started_at.elapsed() > shutdown::PRESHUTDOWN_TIMEOUT => return End::Stopped,
                _ => {}
            }
            if program.wait_for_exit(Duration::from_millis(500)) {
                return End::Stopped;
            }
        }
    }
}
