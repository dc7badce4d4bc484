//! The channel's link to the service: made when it is needed, made anew when
//! the service goes in the middle of a run.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use casement_resource::RunId;
use casement_resource::wire::{Busy, Decoder, Line, PROTOCOL, ToAgent, ToController, What, encode};

use super::{Output, protocol};
use crate::backstage::{Backstage, Duplex};
use crate::platform::Result;

/// How often a service that goes in the middle of a run is started anew
/// without any event in between.
const TRIES: u32 = 5;

pub(super) struct Link {
    shared: Arc<Shared>,
}

struct Shared {
    backstage: Arc<dyn Backstage>,
    output: Output,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    controller: String,
    writer: Option<Box<dyn Write + Send>>,
    /// Runs whose events are awaited, with the next number.
    awaited: BTreeMap<RunId, u64>,
    /// The question behind the last of them: a service that ended before it took
    /// it does not know the run.
    asked: Option<ToAgent>,
    /// The link is not wanted any more.
    closed: bool,
    tries: u32,
}

impl Link {
    pub(super) fn new(backstage: Arc<dyn Backstage>, output: Output) -> Self {
        let state = Mutex::default();
        Self {
            shared: Arc::new(Shared {
                backstage,
                output,
                state,
            }),
        }
    }

    /// Who the controller is, for the lock.
    pub(super) fn introduce(&mut self, controller: String) {
        self.shared.lock().controller = controller;
    }

    /// Hands a message to the service.
    pub(super) fn send(&mut self, message: &ToAgent) -> Result<()> {
        let mut state = self.shared.lock();
        if state.writer.is_none() {
            self.shared.connect(&mut state)?;
        }
        if write(&mut state, message).is_err() {
            // The service has gone since; once more is enough to find a new one.
            state.writer = None;
            self.shared.connect(&mut state)?;
            write(&mut state, message)?;
        }
        let awaited = match message {
            ToAgent::Converge { run, .. } | ToAgent::Remove { run, .. } => Some((run, 1)),
            ToAgent::Tail { run, from } => Some((run, *from)),
            _ => None,
        };
        if let Some((run, from)) = awaited {
            state.awaited.insert(run.clone(), from);
            state.asked = Some(message.clone());
        }
        Ok(())
    }

    /// Ends the link.
    pub(super) fn close(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.writer = None;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>, state: &mut State) -> Result<()> {
        let Duplex { reader, writer } = self.backstage.connect()?;
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
        thread::spawn(move || shared.listen(reader));
        Ok(())
    }

    /// Passes on what the service says, until it says nothing more.
    fn listen(self: &Arc<Self>, mut reader: Box<dyn Read + Send>) {
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match decoder.next_line::<ToController>() {
                Ok(Some(Line::Message(message))) => {
                    self.note(&message);
                    if self.output.say(&message).is_err() {
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
        self.gone();
    }

    /// Keeps in mind which events are still to come.
    fn note(&self, message: &ToController) {
        let mut state = self.lock();
        match message {
            ToController::Event(event) if matches!(event.what, What::Finished { .. }) => {
                state.awaited.remove(&event.run);
            }
            ToController::Event(event) => {
                state.awaited.insert(event.run.clone(), event.sequence + 1);
                state.tries = 0;
            }
            ToController::Refused(Busy { run, .. }) => {
                state.awaited.remove(run);
            }
            // The service says it of a run whose events will not come.
            ToController::Failed(_) => state.awaited.clear(),
            _ => {}
        }
    }

    /// The service has gone: if events are awaited, a new one has them.
    fn gone(self: &Arc<Self>) {
        let mut state = self.lock();
        state.writer = None;
        if state.closed || state.awaited.is_empty() {
            return;
        }
        state.tries += 1;
        let result = if state.tries > TRIES {
            Err(protocol(
                "the service `casement` ends again and again in the middle of a run",
            ))
        } else {
            self.connect(&mut state).and_then(|()| {
                let awaited: Vec<_> = state.awaited.clone().into_iter().collect();
                awaited.into_iter().try_for_each(|(run, from)| {
                    let same = |it: &ToAgent| from == 1 && run_of(it) == Some(&run);
                    let again = state.asked.clone().filter(same);
                    write(&mut state, &again.unwrap_or(ToAgent::Tail { run, from }))
                })
            })
        };
        drop(state);
        if let Err(failure) = result {
            // If nobody listens any more, nobody misses it.
            let _ = self.output.say(&ToController::Failed(failure));
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
        .ok_or_else(|| protocol("the service is not connected"))?;
    writer
        .write_all(line.as_bytes())
        .and_then(|()| writer.flush())
        .map_err(|_| protocol("the service `casement` does not listen any more"))
}
