//! One connection of the service: what it is asked, and what it tells.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use casement_resource::wire::{Busy, Decoder, Line, ToAgent, ToController, What, encode};
use casement_resource::{Code, Failure, RunId};

use super::runs::{Asked, Runs};
use crate::backstage::Duplex;
use crate::platform::Result;
use crate::state::order::{Order, Task};

/// Where answers and events go; several threads write whole lines.
#[derive(Clone)]
struct Answers(Arc<Mutex<Box<dyn Write + Send>>>);

impl Answers {
    /// Whether the other side still listens.
    fn say(&self, message: &ToController) -> bool {
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

/// Answers until the other side goes.
pub(super) fn serve(runs: &Arc<Runs>, duplex: Duplex) {
    let Duplex { mut reader, writer } = duplex;
    let answers = Answers(Arc::new(Mutex::new(writer)));
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
                if let Err(failure) = answer(runs, message, &controller, &answers) {
                    answers.say(&ToController::Failed(failure));
                }
            }
            Ok(Some(Line::Noise(_))) => {}
            Err(error) => {
                answers.say(&ToController::Failed(Failure::new(
                    Code::Protocol,
                    error.to_string(),
                    "use a casement and an agent of the same version",
                )));
            }
            Ok(None) => match reader.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => decoder.push(buffer.get(..count).unwrap_or_default()),
            },
        }
    }
}

fn answer(runs: &Arc<Runs>, message: ToAgent, controller: &str, answers: &Answers) -> Result<()> {
    let (run, task) = match message {
        ToAgent::Converge { run, document } => (run, Task::Converge(document)),
        ToAgent::Remove { run, what } => (run, Task::Remove(what)),
        ToAgent::Tail { run, from } => {
            tell(runs, run, from, answers);
            return Ok(());
        }
        ToAgent::Secrets { values } => {
            runs.secrets(values);
            return Ok(());
        }
        ToAgent::Stop { run } => {
            runs.stop(&run);
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
                "the service only carries runs out",
                "ask the channel process",
            ));
        }
    };
    let order = Order {
        run: run.clone(),
        controller: controller.to_owned(),
        task,
    };
    match runs.ask(order)? {
        Asked::Accepted => tell(runs, run, 1, answers),
        Asked::Busy(holder) => {
            answers.say(&ToController::Refused(Busy { run, holder }));
        }
    }
    Ok(())
}

/// Tells the events of a run, in a thread of its own, until it is finished or
/// nobody listens.
fn tell(runs: &Arc<Runs>, run: RunId, from: u64, answers: &Answers) {
    let (runs, answers) = (Arc::clone(runs), answers.clone());
    thread::spawn(move || {
        let mut next = from;
        loop {
            let events = match runs.events(&run, next) {
                Ok(events) => events,
                Err(failure) => {
                    answers.say(&ToController::Failed(failure));
                    return;
                }
            };
            if events.is_empty() {
                return;
            }
            for event in events {
                next = event.sequence + 1;
                // After the last one the host may be retired, its journal with it.
                let last = matches!(event.what, What::Finished { .. });
                if !answers.say(&ToController::Event(event)) || last {
                    return;
                }
            }
        }
    });
}
