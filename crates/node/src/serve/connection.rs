//! One connection of the service: its requests, responses and events.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use casement_resource::wire::{Busy, Decoder, EventKind, Line, ToAgent, ToController, encode};
use casement_resource::{Code, Failure, RunId};

use super::runs::{Runs, Submitted};
use crate::platform::Result;
use crate::service_client::Duplex;
use crate::state::order::{Order, Task};

/// The output side of the connection; several threads write whole lines.
#[derive(Clone)]
struct Responses(Arc<Mutex<Box<dyn Write + Send>>>);

impl Responses {
    /// Returns whether the peer still reads.
    fn send(&self, message: &ToController) -> bool {
        let Ok(line) = encode(message) else {
            return false;
        };
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.flush())
            .is_ok()
    }
}

/// Returns when the peer disconnects.
pub(super) fn serve(runs: &Arc<Runs>, duplex: Duplex) {
    let Duplex { mut reader, writer } = duplex;
    let responses = Responses(Arc::new(Mutex::new(writer)));
    let mut controller = String::from("unknown");
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match decoder.next_line::<ToAgent>() {
            Ok(Some(Line::Message(ToAgent::Bye))) => return,
            Ok(Some(Line::Message(ToAgent::Hello {
                controller: name, ..
            }))) => controller = name,
            Ok(Some(Line::Message(message))) => {
                if let Err(failure) = handle(runs, message, &controller, &responses) {
                    responses.send(&ToController::Failed(failure));
                }
            }
            Ok(Some(Line::Noise(_))) => {}
            Err(error) => {
                responses.send(&ToController::Failed(Failure::new(
                    Code::Protocol,
                    error.to_string(),
                    "use the same version of casement and the agent",
                )));
            }
            Ok(None) => match reader.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => decoder.push(buffer.get(..count).unwrap_or_default()),
            },
        }
    }
}

fn handle(
    runs: &Arc<Runs>,
    message: ToAgent,
    controller: &str,
    responses: &Responses,
) -> Result<()> {
    let (run, task) = match message {
        ToAgent::Converge { run, document } => (run, Task::Converge(document)),
        ToAgent::Remove { run, scope } => (run, Task::Remove(scope)),
        ToAgent::Tail { run, from } => {
            stream_events(runs, run, from, responses);
            return Ok(());
        }
        ToAgent::Secrets { values } => {
            runs.secrets(values);
            return Ok(());
        }
        ToAgent::Stop { run } => {
            runs.cancel(&run);
            return Ok(());
        }
        ToAgent::Hello { .. }
        | ToAgent::Observe { .. }
        | ToAgent::Read { .. }
        | ToAgent::Pull(_)
        | ToAgent::Collect
        | ToAgent::Retire
        | ToAgent::Bye => {
            return Err(Failure::new(
                Code::Protocol,
                "the service only executes runs",
                "send this request to the channel process",
            ));
        }
    };
    let order = Order {
        run: run.clone(),
        controller: controller.to_owned(),
        task,
    };
    match runs.submit(order)? {
        Submitted::Accepted => stream_events(runs, run, 1, responses),
        Submitted::Busy(holder) => {
            responses.send(&ToController::Refused(Busy { run, holder }));
        }
    }
    Ok(())
}

/// Streams the events of a run on its own thread, until the run has finished or the
/// peer disconnects.
fn stream_events(runs: &Arc<Runs>, run: RunId, from: u64, responses: &Responses) {
    let (runs, responses) = (Arc::clone(runs), responses.clone());
    thread::spawn(move || {
        let mut next = from;
        loop {
            let events = match runs.events(&run, next) {
                Ok(events) => events,
                Err(failure) => {
                    responses.send(&ToController::Failed(failure));
                    return;
                }
            };
            if events.is_empty() {
                return;
            }
            for event in events {
                next = event.sequence + 1;
                // After the last event the host may be retired, and its journal
                // deleted.
                let last = matches!(event.kind, EventKind::Finished { .. });
                if !responses.send(&ToController::Event(event)) || last {
                    return;
                }
            }
        }
    });
}
