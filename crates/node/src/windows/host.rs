//! `casement-node host NAME`: the program of every service that casement
//! makes.
//!
//! It waits until what the service depends on is ready, starts the program,
//! keeps its output, starts it again when it ends, and stops it cleanly. To
//! the Service Control Manager it tells the truth: running only while the
//! program runs, paused while it waits to start it again (a service that is
//! "starting" could not be stopped), stopped with the program's exit code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use casement_resource::{Code, Failure};
use windows_service::service::{ServiceExitCode, ServiceState};
use windows_service::{define_windows_service, service_dispatcher};

use super::report::{Ending, Reporter};
use crate::going_down::{self, Next};
use crate::state::Layout;

mod backoff;
mod child;
mod definition;
mod flags;
mod log;
mod program;
mod variables;

use backoff::Backoff;
use program::{Ended, Program};

/// What the dispatcher's callback, which takes no arguments of ours, needs.
static TASK: OnceLock<Task> = OnceLock::new();

struct Task {
    name: String,
    config: PathBuf,
    outcome: Mutex<Result<(), Failure>>,
}

/// Serves until the service is stopped. Only the Service Control Manager can
/// start a process that may call this.
pub fn run(layout: &Layout, name: &str) -> Result<(), Failure> {
    let config = layout.service_file(name).ok_or_else(|| {
        Failure::new(
            Code::State,
            format!("`{name}` is no name of a service of casement's"),
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
            format!("`host {name}` is for the Service Control Manager: {error}"),
            format!("start the service: `sc start {name}`"),
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
    let outcome = Hosting::begin(task).and_then(|mut hosting| hosting.run(task));
    if let Ok(mut place) = task.outcome.lock() {
        *place = outcome;
    }
}

/// A service that is being served.
struct Hosting {
    report: Reporter,
    stop: Receiver<Ending>,
}

/// How the service ends.
enum End {
    /// It was asked to.
    Asked,
    /// It could not go on.
    Failed(Failure, ServiceExitCode),
}

impl Hosting {
    fn begin(task: &Task) -> Result<Self, Failure> {
        let (ask, stop) = mpsc::channel();
        let report = Reporter::new(&task.name, move |why| {
            // Nobody listens any more when the service has ended already.
            let _ = ask.send(why);
        })?;
        Ok(Self { report, stop })
    }

    fn run(&mut self, task: &Task) -> Result<(), Failure> {
        match self.serve(task) {
            End::Asked => {
                self.report.stopped(ServiceExitCode::NO_ERROR);
                Ok(())
            }
            End::Failed(failure, code) => {
                self.report.stopped(code);
                Err(failure)
            }
        }
    }

    fn serve(&mut self, task: &Task) -> End {
        self.report.pending(ServiceState::StartPending);
        let mut program = match Program::prepare(&task.config) {
            Ok(program) => program,
            Err(failure) => {
                program::note_without_definition(&task.name, &failure.to_string());
                return End::Failed(failure, ServiceExitCode::ServiceSpecific(1));
            }
        };
        match self.wait_for_dependencies(&mut program) {
            Ok(true) => {}
            Ok(false) => return End::Asked,
            Err(failure) => {
                program.note(&failure.to_string());
                return End::Failed(failure, ServiceExitCode::ServiceSpecific(2));
            }
        }
        let mut backoff = Backoff::new();
        loop {
            let started = Instant::now();
            if let Err((failure, code)) = program.start() {
                program.note(&failure.to_string());
                return End::Failed(failure, ServiceExitCode::Win32(code));
            }
            self.report.now(ServiceState::Running);
            let code = match program.wait(&self.stop) {
                Ended::Asked(Ending::Stop) => return self.stop(&mut program),
                Ended::Asked(Ending::GoingDown) => return self.go_down(&mut program),
                Ended::ByItself(code) => code,
            };
            let pause = backoff.next(started.elapsed());
            program.note(&format!(
                "the program ended with exit code {code}; it starts again in {} s",
                pause.as_secs()
            ));
            self.report.now(ServiceState::Paused);
            // A message, or the other side gone: both mean an end.
            if self.stop.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                return End::Asked;
            }
        }
    }

    /// False if the service was told to stop meanwhile.
    fn wait_for_dependencies(&mut self, program: &mut Program) -> Result<bool, Failure> {
        const LOOK_AGAIN: Duration = Duration::from_millis(100);
        let begun = Instant::now();
        while let Some((service, within, found)) = program.unready()? {
            if begun.elapsed() > within {
                return Err(Failure::new(
                    Code::TimedOut,
                    format!(
                        "`{service}`, which this service needs, is not ready after {} s",
                        within.as_secs()
                    ),
                    format!(r"read the end of C:\var\log\{service}\{service}.log"),
                )
                .found(found));
            }
            self.report.pending(ServiceState::StartPending);
            if self.stop.recv_timeout(LOOK_AGAIN) != Err(mpsc::RecvTimeoutError::Timeout) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn stop(&mut self, program: &mut Program) -> End {
        const TO_LISTEN: Duration = Duration::from_secs(20);
        const TO_DIE: Duration = Duration::from_secs(30);
        let begun = Instant::now();
        let mut killed = false;
        // Said first: whoever waits must see that the service has heard, however
        // long its program takes to listen.
        self.report.pending(ServiceState::StopPending);
        program.ask_to_end();
        while !program.has_ended(Duration::from_millis(500)) {
            self.report.pending(ServiceState::StopPending);
            if begun.elapsed() > TO_DIE {
                program
                    .note("the program could not be killed; the system ends it with the service");
                break;
            }
            if begun.elapsed() > TO_LISTEN && !killed {
                program.note("the program did not end when asked; it is killed");
                program.kill();
                killed = true;
            }
        }
        End::Asked
    }

    /// The program ends after those that need it: a kubelet that drains still has
    /// its runtime.
    fn go_down(&mut self, program: &mut Program) -> End {
        program.note("the host goes down");
        let begun = Instant::now();
        let (mut waited, mut asked, mut killed) = (false, false, false);
        loop {
            self.report.pending(ServiceState::StopPending);
            let needed = program.needed_by().filter(|_| !asked);
            match going_down::next(begun.elapsed(), needed.is_some()) {
                Next::Wait if !waited => {
                    let name = needed.unwrap_or_default();
                    program.note(&format!("`{name}`, which needs this service, ends first"));
                    waited = true;
                }
                Next::Ask if !asked => {
                    program.ask_to_end();
                    asked = true;
                }
                Next::Kill if !killed => {
                    program.note("the program did not end in time; it is killed");
                    program.kill();
                    killed = true;
                }
                _ if begun.elapsed() > going_down::LONGEST => return End::Asked,
                _ => {}
            }
            if program.has_ended(Duration::from_millis(500)) {
                return End::Asked;
            }
        }
    }
}
