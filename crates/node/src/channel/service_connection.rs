//! The connection from the channel to the service: opened on demand, and opened again
//! if the service exits during a run.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use casement_resource::RunId;
use casement_resource::wire::{
    Busy, Decoder, EventKind, Line, PROTOCOL, ToAgent, ToController, encode,
};

use super::{Output, protocol};
use crate::platform::Result;
use crate::service_client::{Duplex, ServiceClient};

/// Consecutive restarts of the service without any event in between.
const MAX_RESTARTS: u32 = 5;

pub(super) struct ServiceConnection {
    shared: Arc<Shared>,
}

struct Shared {
    service_client: Arc<dyn ServiceClient>,
    output: Output,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    controller: String,
    writer: Option<Box<dyn Write + Send>>,
    /// Unfinished runs, with the sequence number of the next event.
    pending: BTreeMap<RunId, u64>,
    /// Sent again after a restart: a service that exited before it read the request
    /// does not know the run.
    last_request: Option<ToAgent>,
    closed: bool,
    restarts: u32,
}

impl ServiceConnection {
    pub(super) fn new(service_client: Arc<dyn ServiceClient>, output: Output) -> Self {
        let state = Mutex::default();
        Self {
            shared: Arc::new(Shared {
                service_client,
                output,
                state,
            }),
        }
    }

    /// The holder name for the lock.
    pub(super) fn set_controller(&mut self, controller: String) {
        self.shared.lock().controller = controller;
    }

    pub(super) fn send(&mut self, message: &ToAgent) -> Result<()> {
        let mut state = self.shared.lock();
        if state.writer.is_none() {
            self.shared.connect(&mut state)?;
        }
        if write(&mut state, message).is_err() {
            // The service has exited since; `connect` starts it.
            state.writer = None;
            self.shared.connect(&mut state)?;
            write(&mut state, message)?;
        }
        let pending = match message {
            ToAgent::Converge { run, .. } | ToAgent::Remove { run, .. } => Some((run, 1)),
            ToAgent::Tail { run, from } => Some((run, *from)),
            _ => None,
        };
        if let Some((run, from)) = pending {
            state.pending.insert(run.clone(), from);
            state.last_request = Some(message.clone());
        }
        Ok(())
    }

    pub(super) fn close(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.writer = None;
    }
}

impl Drop for ServiceConnection {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>, state: &mut State) -> Result<()> {
        let Duplex { reader, writer } = self.service_client.connect()?;
        state.writer = Some(writer);
        state.closed = false;
        let controller = state.controller.clone();
        write(
            state,
            &ToAgent::Hello {
                protocol: PROTOCOL,
                controller,
            },
        )?;
        let shared = Arc::clone(self);
        thread::spawn(move || shared.forward(reader));
        Ok(())
    }

    /// Forwards messages of the service until it closes the connection.
    fn forward(self: &Arc<Self>, mut reader: Box<dyn Read + Send>) {
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match decoder.next_line::<ToController>() {
                Ok(Some(Line::Message(message))) => {
                    self.track(&message);
                    if self.output.send(&message).is_err() {
                        return;
                    }
                }
                Ok(Some(Line::Noise(_))) | Err(_) => {}
                Ok(None) => match reader.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => decoder.push(buffer.get(..count).unwrap_or_default()),
                },
            }
        }
        self.reconnect();
    }

    fn track(&self, message: &ToController) {
        let mut state = self.lock();
        match message {
            ToController::Event(event) if matches!(event.kind, EventKind::Finished { .. }) => {
                state.pending.remove(&event.run);
            }
            ToController::Event(event) => {
                state.pending.insert(event.run.clone(), event.sequence + 1);
                state.restarts = 0;
            }
            ToController::Refused(Busy { run, .. }) => {
                state.pending.remove(run);
            }
            // No more events follow after a failure.
            ToController::Failed(_) => state.pending.clear(),
            _ => {}
        }
    }

    /// Called when the service has exited; restarts it if runs are unfinished.
    fn reconnect(self: &Arc<Self>) {
        let mut state = self.lock();
        state.writer = None;
        if state.closed || state.pending.is_empty() {
            return;
        }
        state.restarts += 1;
        let result = if state.restarts > MAX_RESTARTS {
            Err(protocol(
                "the service `casement` keeps exiting during the run",
            ))
        } else {
            self.connect(&mut state).and_then(|()| {
                let pending: Vec<_> = state.pending.clone().into_iter().collect();
                pending.into_iter().try_for_each(|(run, from)| {
                    let is_request = |it: &ToAgent| from == 1 && run_of(it) == Some(&run);
                    let request = state.last_request.clone().filter(is_request);
                    write(&mut state, &request.unwrap_or(ToAgent::Tail { run, from }))
                })
            })
        };
        drop(state);
        if let Err(failure) = result {
            // The controller may be gone, too.
            let _ = self.output.send(&ToController::Failed(failure));
        }
    }
}

fn run_of(message: &ToAgent) -> Option<&RunId> {
    match message {
        ToAgent::Converge { run, .. } | ToAgent::Remove { run, .. } => Some(run),
        _ => None,
    }
}

fn write(state: &mut State, message: &ToAgent) -> Result<()> {
    let line = encode(message).map_err(|error| protocol(&error.to_string()))?;
    let writer = state
        .writer
        .as_mut()
        .ok_or_else(|| protocol("not connected to the service `casement`"))?;
    writer
        .write_all(line.as_bytes())
        .and_then(|()| writer.flush())
        .map_err(|_| protocol("the service `casement` closed the connection"))
}
