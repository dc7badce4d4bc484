//! The program of a service across restarts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use casement_resource::host_paths::windows_log;
use casement_resource::{Code, Condition, ConditionFacts, Failure, ServiceDefinition};
use windows_service::service::ServiceState;

use super::child::{self, ChildProcess, Output};
use super::log::Log;
use super::{definition, flags, variables};
use crate::windows::failure::system;
use crate::windows::security::check_program;
use crate::windows::status::StopReason;
use crate::windows::{conditions, scm};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEvent {
    /// The program still runs.
    StopRequested(StopReason),
    /// With the exit code.
    Exited(i32),
}

/// Logs to the default path, for a service whose definition cannot be read.
pub fn log_without_definition(name: &str, text: &str) {
    let path = PathBuf::from(windows_log(name));
    if let Ok(log) = Log::open(&path) {
        let output = Arc::new(Mutex::new(Some(log)));
        child::write(&output, format!("casement: {text}\r\n").as_bytes());
    }
}

#[derive(Debug)]
pub struct Program {
    definition: ServiceDefinition,
    path: PathBuf,
    output: Output,
    running: Option<ChildProcess>,
}

impl Program {
    pub fn prepare(path: &Path) -> Result<Self, Failure> {
        let definition = definition::read(path)?;
        let log = match &definition.log_file {
            Some(file) => Some(
                Log::open(Path::new(file.as_str()))
                    .map_err(|error| system(format_args!("open the log `{file}`"), &error))?,
            ),
            None => None,
        };
        Ok(Self {
            definition,
            path: path.to_owned(),
            output: Arc::new(Mutex::new(log)),
            running: None,
        })
    }

    /// Writes a line of the service host to the log of the program.
    pub fn log(&self, text: &str) {
        let line = format!("casement: {text}\r\n");
        child::write(&self.output, line.as_bytes());
    }

    /// The first dependency that is not ready, with its timeout and the observed
    /// state.
    pub fn unready_dependency(&self) -> Result<Option<(String, Duration, String)>, Failure> {
        for name in &self.definition.depends_on {
            let (condition, seconds) = match definition::sibling(&self.path, name)? {
                Some(sibling) => (sibling.ready, sibling.ready_seconds),
                None => (None, 30),
            };
            let condition = condition.unwrap_or_else(|| Condition::ServiceRunning(name.clone()));
            if let ConditionFacts::NotYet(found) = conditions::evaluate(&condition)? {
                let timeout = Duration::from_secs(seconds.into());
                return Ok(Some((name.clone(), timeout, found)));
            }
        }
        Ok(None)
    }

    /// On failure, also returns the exit code for the service.
    pub fn start(&mut self) -> Result<(), (Failure, u32)> {
        let mut program = self.definition.program.clone();
        if let Some(name) = program.first() {
            check_program(Path::new(name)).map_err(|failure| (failure, 5))?;
        }
        program.extend(self.flags().map_err(|failure| (failure, 1))?);
        self.log(&format!("starting `{}`", program.join(" ")));
        let environment = self.environment().map_err(|failure| (failure, 1))?;
        let running = ChildProcess::start(&program, &environment, &self.output)?;
        self.running = Some(running);
        Ok(())
    }

    /// Includes the variables from the environment file.
    fn environment(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut all = self.definition.environment.clone();
        if let Some(file) = &self.definition.environment_file {
            let text = fs::read_to_string(file.as_str())
                .map_err(|error| system(format_args!("read `{file}`"), &error))?;
            all.extend(variables::parse(&text));
        }
        Ok(all)
    }

    /// The file may not exist yet.
    fn flags(&self) -> Result<Vec<String>, Failure> {
        let Some(file) = &self.definition.flags_file else {
            return Ok(Vec::new());
        };
        let text = match fs::read_to_string(file.as_str()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(system(format_args!("read `{file}`"), &error)),
        };
        flags::arguments(&text).map_err(|error| {
            Failure::new(
                Code::ServiceFailed,
                format!("failed to parse `{file}`: {error}"),
                "join the host again; kubeadm writes this file",
            )
        })
    }

    /// Waits until the program exits or the service is stopped.
    pub fn wait(&mut self, stop: &Receiver<StopReason>) -> ProgramEvent {
        loop {
            if let Some(code) = self
                .running
                .as_mut()
                .map_or(Some(1), ChildProcess::exit_code)
            {
                self.running = None;
                return ProgramEvent::Exited(code);
            }
            match stop.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(reason) => return ProgramEvent::StopRequested(reason),
                Err(RecvTimeoutError::Disconnected) => {
                    return ProgramEvent::StopRequested(StopReason::Requested);
                }
            }
        }
    }

    /// A dependent service of casement that still runs.
    pub fn running_dependent(&self) -> Option<String> {
        let needs = |other: &ServiceDefinition| {
            let mut names = other.depends_on.iter();
            names.any(|name| name.eq_ignore_ascii_case(&self.definition.name))
        };
        let runs = |name: &str| {
            // A service that cannot be queried is not waited for.
            let service = scm::query(name).ok().flatten();
            service.is_some_and(|it| it.state != ServiceState::Stopped)
        };
        let mut others = definition::siblings(&self.path).into_iter();
        let other = others.find(|other| needs(other) && runs(&other.name));
        other.map(|other| other.name)
    }

    pub fn request_stop(&self) {
        if let Some(running) = &self.running {
            running.request_stop();
        }
    }

    /// Returns whether the program exited within the timeout.
    pub fn wait_for_exit(&mut self, timeout: Duration) -> bool {
        let started = Instant::now();
        while let Some(running) = &mut self.running {
            if let Some(code) = running.exit_code() {
                self.running = None;
                self.log(&format!(
                    "the program exited with exit code {code:#x}; stopping the service"
                ));
            } else if started.elapsed() >= timeout {
                return false;
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        true
    }

    pub fn kill(&self) {
        if let Some(running) = &self.running {
            running.kill();
        }
    }
}
