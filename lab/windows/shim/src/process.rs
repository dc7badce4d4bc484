//! One process of a container, from its creation to its exit.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use containerd_shim::Error;
use containerd_shim::api::Status;
use containerd_shim::protos::protobuf::well_known_types::timestamp::Timestamp;
use containerd_shim::util::timestamp;
use lab_wire::container::{KillMode, StartProcess, ToProcess};

use crate::netd;
use crate::streams::{self, ControlChannel, Pipes, StreamNames};

/// The pause process of a sandbox has only a state.
pub struct Process {
    pub stream_names: StreamNames,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Created(Box<Option<(StartProcess, Pipes)>>),
    Starting,
    Running {
        pid: u32,
        control: Option<ControlChannel>,
    },
    Exited(Exit),
}

#[derive(Debug, Clone)]
pub struct Exit {
    pub pid: u32,
    pub code: u32,
    pub at: Timestamp,
}

impl Process {
    /// The pause process of a sandbox: a state without a process.
    pub fn pause(stream_names: StreamNames) -> Self {
        Self::new(stream_names, None)
    }

    pub fn create(stream_names: StreamNames, start: StartProcess) -> Result<Self, Error> {
        let pipes = Pipes::open(&stream_names)?;
        Ok(Self::new(stream_names, Some((start, pipes))))
    }

    fn new(stream_names: StreamNames, pending: Option<(StartProcess, Pipes)>) -> Self {
        Self {
            stream_names,
            state: Mutex::new(State::Created(Box::new(pending))),
            changed: Condvar::new(),
        }
    }

    /// Calls `started` with the process id, always before `ended`.
    pub fn start(
        self: &Arc<Self>,
        started: impl FnOnce(u32),
        ended: impl FnOnce(Exit) + Send + 'static,
    ) -> Result<u32, Error> {
        let pending = self.begin()?;
        let Some((start, pipes)) = pending else {
            let pid = std::process::id();
            *self.lock() = State::Running { pid, control: None };
            started(pid);
            return Ok(pid);
        };
        // Without the lock: starting the first process of a container is slow.
        let (pid, connection) = match netd::start(start) {
            Ok((started, connection)) => (started.pid, connection),
            Err(error) => {
                self.exit(std::process::id(), 1);
                return Err(error);
            }
        };
        // With the lock, so that the process cannot exit before it is Running.
        let mut state = self.lock();
        let this = Arc::clone(self);
        let exited = move |code| ended(this.exit(pid, code));
        let control = streams::connect(pipes, connection, exited).map_err(|err| {
            let context = "connect the streams of a process".to_owned();
            Error::IoError { context, err }
        })?;
        let control = Some(control);
        *state = State::Running { pid, control };
        started(pid);
        Ok(pid)
    }

    /// Takes the start parameters, so that a second start fails.
    fn begin(&self) -> Result<Option<(StartProcess, Pipes)>, Error> {
        let mut state = self.lock();
        let State::Created(pending) = &mut *state else {
            return Err(Error::FailedPreconditionError("already started".to_owned()));
        };
        let pending = pending.take();
        *state = State::Starting;
        Ok(pending)
    }

    fn exit(&self, pid: u32, code: u32) -> Exit {
        let mut state = self.lock();
        let at = timestamp().unwrap_or_default();
        let exit = Exit { pid, code, at };
        *state = State::Exited(exit.clone());
        self.changed.notify_all();
        exit
    }

    /// Without a running process it exits immediately and the exit is returned;
    /// otherwise the exit is reported later.
    pub fn kill(&self, ending: KillMode) -> Result<Option<Exit>, Error> {
        let control = match &*self.lock() {
            State::Exited(_) => {
                return Err(Error::NotFoundError("process already finished".to_owned()));
            }
            State::Starting => {
                return Err(Error::FailedPreconditionError("starting".to_owned()));
            }
            // Like Microsoft's shim: 1 if it never ran, 0 for a pause process.
            State::Created(pending) if pending.is_some() => Err(1),
            State::Created(_) | State::Running { control: None, .. } => Err(0),
            State::Running {
                control: Some(control),
                ..
            } => Ok(control.clone()),
        };
        match control {
            Err(code) => Ok(Some(self.exit(std::process::id(), code))),
            Ok(control) => {
                // Fails if the process has exited in the meantime.
                let _ = control.send(&ToProcess::Kill(ending));
                Ok(None)
            }
        }
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        if let State::Running {
            control: Some(control),
            ..
        } = &*self.lock()
        {
            let _ = control.send(&ToProcess::Resize { columns, rows });
        }
    }

    pub fn wait(&self) -> Exit {
        let mut state = self.lock();
        loop {
            if let State::Exited(exit) = &*state {
                return exit.clone();
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn exited(&self) -> Option<Exit> {
        match &*self.lock() {
            State::Exited(exit) => Some(exit.clone()),
            _ => None,
        }
    }

    /// The status and the process id, which before the start is that of the shim.
    pub fn status(&self) -> (Status, u32) {
        match &*self.lock() {
            State::Created(_) | State::Starting => (Status::CREATED, std::process::id()),
            State::Running { pid, .. } => (Status::RUNNING, *pid),
            State::Exited(exit) => (Status::STOPPED, exit.pid),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is always replaced as a whole, so a poisoned lock is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
