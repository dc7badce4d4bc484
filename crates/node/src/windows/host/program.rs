//! A service's program from one start to the next.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use casement_resource::{Code, Condition, ConditionFacts, Failure, ServiceDefinition};
use windows_service::service::ServiceState;

use super::child::{self, Output, Running};
use super::log::Log;
use super::{definition, flags, variables};
use crate::windows::failure::system;
use crate::windows::report::Ending;
use crate::windows::security::check_program;
use crate::windows::{conditions, scm};

const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How a program's time came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The service was told to stop; the program still runs.
    Asked(Ending),
    /// With this exit code.
    ByItself(i32),
}

/// Writes a line into the log that services have where nothing else was said.
pub fn note_without_definition(name: &str, text: &str) {
    let path = PathBuf::from(format!(r"C:\var\log\{name}\{name}.log"));
    if let Ok(log) = Log::open(&path) {
        let output = Arc::new(Mutex::new(Some(log)));
        child::write(&output, format!("casement: {text}\r\n").as_bytes());
    }
}

/// The program, running or not.
#[derive(Debug)]
pub struct Program {
    definition: ServiceDefinition,
    path: PathBuf,
    output: Output,
    running: Option<Running>,
}

impl Program {
    /// Reads the definition and opens the log.
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

    /// Writes a line of the host's own into the program's log.
    pub fn note(&self, text: &str) {
        let line = format!("casement: {text}\r\n");
        child::write(&self.output, line.as_bytes());
    }

    /// The first service that this one needs and that is not ready, with how
    /// long it may take and what is there instead.
    pub fn unready(&self) -> Result<Option<(String, Duration, String)>, Failure> {
        for name in &self.definition.depends_on {
            let (condition, seconds) = match definition::neighbour(&self.path, name)? {
                Some(neighbour) => (neighbour.ready, neighbour.ready_seconds),
                None => (None, 30),
            };
            let condition = condition.unwrap_or_else(|| Condition::ServiceRunning(name.clone()));
            if let ConditionFacts::NotYet(found) = conditions::look(&condition)? {
                let within = Duration::from_secs(seconds.into());
                return Ok(Some((name.clone(), within, found)));
            }
        }
        Ok(None)
    }

    /// Starts it; the number is the exit code of a service that could not.
    pub fn start(&mut self) -> Result<(), (Failure, u32)> {
        let mut program = self.definition.program.clone();
        if let Some(name) = program.first() {
            check_program(Path::new(name)).map_err(|failure| (failure, 5))?;
        }
        program.extend(self.flags().map_err(|failure| (failure, 1))?);
        self.note(&format!("starts `{}`", program.join(" ")));
        let environment = self.environment().map_err(|failure| (failure, 1))?;
        let running = Running::start(&program, &environment, &self.output)?;
        self.running = Some(running);
        Ok(())
    }

    /// Its variables, with those that are in no definition.
    fn environment(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut all = self.definition.environment.clone();
        if let Some(file) = &self.definition.environment_file {
            let text = fs::read_to_string(file.as_str())
                .map_err(|error| system(format_args!("read `{file}`"), &error))?;
            all.extend(variables::read(&text));
        }
        Ok(all)
    }

    /// What kubeadm has left for it; it may not have been there yet.
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
                format!("`{file}` cannot be read: {error}"),
                "join the host again: kubeadm writes the file",
            )
        })
    }

    /// Waits until it ends, or until the service is told to stop.
    pub fn wait(&mut self, stop: &Receiver<Ending>) -> Ended {
        loop {
            if let Some(code) = self.running.as_mut().map_or(Some(1), Running::exit_code) {
                self.running = None;
                return Ended::ByItself(code);
            }
            match stop.recv_timeout(LOOK_AGAIN) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(why) => return Ended::Asked(why),
                Err(RecvTimeoutError::Disconnected) => return Ended::Asked(Ending::Stop),
            }
        }
    }

    /// A service of casement's that needs this one and still runs.
    pub fn needed_by(&self) -> Option<String> {
        let needs = |other: &ServiceDefinition| {
            let mut names = other.depends_on.iter();
            names.any(|name| name.eq_ignore_ascii_case(&self.definition.name))
        };
        let runs = |name: &str| {
            // One that cannot be asked is not waited for.
            let service = scm::query(name).ok().flatten();
            service.is_some_and(|it| it.state != ServiceState::Stopped)
        };
        let mut others = definition::all_beside(&self.path).into_iter();
        let other = others.find(|other| needs(other) && runs(&other.name));
        other.map(|other| other.name)
    }

    /// Asks it to end.
    pub fn ask_to_end(&self) {
        if let Some(running) = &self.running {
            running.ask_to_end();
        }
    }

    /// Whether it has ended, or does so within a time.
    pub fn has_ended(&mut self, within: Duration) -> bool {
        let begun = Instant::now();
        while let Some(running) = &mut self.running {
            if let Some(code) = running.exit_code() {
                self.running = None;
                self.note(&format!(
                    "the program ended with exit code {code:#x}; the service stops"
                ));
            } else if begun.elapsed() >= within {
                return false;
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        true
    }

    /// Ends it.
    pub fn kill(&self) {
        if let Some(running) = &self.running {
            running.kill();
        }
    }
}
