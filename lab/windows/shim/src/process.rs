//! One process of a container, from its creation to its exit.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use containerd_shim::Error;
use containerd_shim::api::Status;
use containerd_shim::protos::protobuf::well_known_types::timestamp::Timestamp;
use containerd_shim::util::timestamp;
use lab_wire::container::{Ending, ProcessStart, ToProcess};

use crate::netd;
use crate::streams::{self, Names, Orders, Pipes};

/// A process; the pause of a sandbox has a state only.
pub struct Process {
    /// The names of its streams, for those who ask.
    pub names: Names,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Created(Box<Option<(ProcessStart, Pipes)>>),
    Starting,
    Running { pid: u32, orders: Option<Orders> },
    Exited(Exit),
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct Exit {
    pub pid: u32,
    pub code: u32,
    pub at: Timestamp,
}

impl Process {
    /// A pause: nothing that runs.
    pub fn pause(names: Names) -> Self {
        Self::new(names, None)
    }

    /// A process that will run.
    pub fn create(names: Names, start: ProcessStart) -> Result<Self, Error> {
        let pipes = Pipes::open(&names)?;
        Ok(Self::new(names, Some((start, pipes))))
    }

    fn new(names: Names, order: Option<(ProcessStart, Pipes)>) -> Self {
        Self {
            names,
            state: Mutex::new(State::Created(Box::new(order))),
            changed: Condvar::new(),
        }
    }

    /// Starts it; `started` is told the id before `ended` can be told the end.
    pub fn start(
        self: &Arc<Self>,
        started: impl FnOnce(u32),
        ended: impl FnOnce(Exit) + Send + 'static,
    ) -> Result<u32, Error> {
        let order = self.begin()?;
        let Some((order, pipes)) = order else {
            let pid = std::process::id();
            *self.lock() = State::Running { pid, orders: None };
            started(pid);
            return Ok(pid);
        };
        // Not under the lock: a container's first process takes its time.
        let (pid, connection) = match netd::start(order) {
            Ok((answer, connection)) => (answer.pid, connection),
            Err(error) => {
                self.exit(std::process::id(), 1);
                return Err(error);
            }
        };
        // Under the lock: however soon it ends, it ends after it has started.
        let mut state = self.lock();
        let this = Arc::clone(self);
        let exited = move |code| ended(this.exit(pid, code));
        let orders = streams::connect(pipes, connection, exited).map_err(|err| {
            let context = "connection of a process".to_owned();
            Error::IoError { context, err }
        })?;
        let orders = Some(orders);
        *state = State::Running { pid, orders };
        started(pid);
        Ok(pid)
    }

    /// Takes what is needed to start; nobody else can then.
    fn begin(&self) -> Result<Option<(ProcessStart, Pipes)>, Error> {
        let mut state = self.lock();
        let State::Created(order) = &mut *state else {
            return Err(Error::FailedPreconditionError("already started".to_owned()));
        };
        let order = order.take();
        *state = State::Starting;
        Ok(order)
    }

    fn exit(&self, pid: u32, code: u32) -> Exit {
        let mut state = self.lock();
        let at = timestamp().unwrap_or_default();
        let exit = Exit { pid, code, at };
        *state = State::Exited(exit.clone());
        self.changed.notify_all();
        exit
    }

    /// Ends it. What has no process ends here and now, and its exit is given;
    /// the others tell theirs when they have one.
    pub fn kill(&self, ending: Ending) -> Result<Option<Exit>, Error> {
        let orders = match &*self.lock() {
            State::Exited(_) => {
                return Err(Error::NotFoundError("process already finished".to_owned()));
            }
            State::Starting => {
                return Err(Error::FailedPreconditionError("starting".to_owned()));
            }
            // As Microsoft's shim: 1 for what never ran, 0 for a pause.
            State::Created(order) if order.is_some() => Err(1),
            State::Created(_) | State::Running { orders: None, .. } => Err(0),
            State::Running {
                orders: Some(orders),
                ..
            } => Ok(orders.clone()),
        };
        match orders {
            Err(code) => Ok(Some(self.exit(std::process::id(), code))),
            Ok(orders) => {
                // A process that has ended meanwhile hears nothing.
                let _ = orders.send(&ToProcess::Kill(ending));
                Ok(None)
            }
        }
    }

    /// Tells its console the new size.
    pub fn resize(&self, columns: u16, rows: u16) {
        if let State::Running {
            orders: Some(orders),
            ..
        } = &*self.lock()
        {
            let _ = orders.send(&ToProcess::Resize { columns, rows });
        }
    }

    /// Waits for its end.
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

    /// How it ended, if it has.
    pub fn exited(&self) -> Option<Exit> {
        match &*self.lock() {
            State::Exited(exit) => Some(exit.clone()),
            _ => None,
        }
    }

    /// Its status and id; before the start, the shim's own id stands for it.
    pub fn status(&self) -> (Status, u32) {
        match &*self.lock() {
            State::Created(_) | State::Starting => (Status::CREATED, std::process::id()),
            State::Running { pid, .. } => (Status::RUNNING, *pid),
            State::Exited(exit) => (Status::STOPPED, exit.pid),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is replaced whole, never changed halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
