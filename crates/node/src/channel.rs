//! The channel: the process that SSH starts. It observes the host itself, and forwards
//! every change to the service and the events of the service to the controller.
//!
//! If the service exits during a run, the channel restarts it and requests the
//! remaining events. The service does not depend on the channel.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use casement_resource::wire::{Decoder, Line, LockHolder, PROTOCOL, ToAgent, ToController, encode};
use casement_resource::{Code, Failure, Sha256};

use crate::engine::observe;
use crate::platform::{Platform, Result};
use crate::pull::pull;
use crate::service_client::ServiceClient;
use crate::state::order::Order;
use crate::state::records::Records;
use crate::state::{Layout, journal, lock};

mod collect;
mod read;
mod retire;
mod service_connection;
#[cfg(test)]
mod tests;

use service_connection::ServiceConnection;

pub struct ChannelServer<'a> {
    pub platform: &'a dyn Platform,
    pub layout: &'a Layout,
    pub service_client: Arc<dyn ServiceClient>,
    /// The hash of this executable.
    pub agent: Sha256,
    /// Whether this process may change the host; an error is the response to `hello`.
    pub allowed: Result<()>,
}

/// Writes to the controller. Several threads write, a whole line at a time.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    fn send(&self, message: &ToController) -> Result<()> {
        let line = encode(message).map_err(|error| protocol(&error.to_string()))?;
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.flush())
            .map_err(|_| protocol("the controller closed the connection"))
    }
}

impl ChannelServer<'_> {
    /// Runs until the controller sends `bye` or closes its end. Fails only if writing to
    /// the controller fails.
    pub fn run(&self, input: &mut dyn Read, output: Box<dyn Write + Send>) -> Result<()> {
        let output = Output(Arc::new(Mutex::new(output)));
        let mut service = ServiceConnection::new(Arc::clone(&self.service_client), output.clone());
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut greeted = false;
        loop {
            let message = match decoder.next_line::<ToAgent>() {
                Ok(Some(Line::Message(message))) => message,
                Ok(Some(Line::Noise(_))) => continue,
                Err(error) => {
                    output.send(&ToController::Failed(protocol(&error.to_string())))?;
                    continue;
                }
                Ok(None) => match input.read(&mut buffer) {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(count) => {
                        decoder.push(buffer.get(..count).unwrap_or_default());
                        continue;
                    }
                },
            };
            let result = match message {
                ToAgent::Bye => return output.send(&ToController::Bye),
                ToAgent::Hello {
                    protocol: PROTOCOL,
                    controller,
                } => {
                    // Without permission every other request is rejected.
                    greeted = self.allowed.is_ok();
                    service.set_controller(controller);
                    self.hello()
                }
                ToAgent::Hello {
                    protocol: other, ..
                } => Err(protocol("the controller uses another protocol version")
                    .values(PROTOCOL.to_string(), other.to_string())),
                _ if !greeted => Err(protocol("the first message must be `hello`")),
                ToAgent::Observe { document } => observe(self.platform, self.layout, &document)
                    .map(|observation| {
                        Some(ToController::Observed {
                            steps: observation.steps,
                            missing_blobs: observation.missing_blobs,
                            kept: observation.kept,
                        })
                    }),
                ToAgent::Read { path, last, since } => {
                    let limit = usize::try_from(last).unwrap_or(read::MAX_BYTES);
                    let limit = limit.min(read::MAX_BYTES);
                    let read = read::tail(self.platform, &path, limit, since);
                    read.map(|(text, end)| Some(ToController::Text { text, end }))
                }
                ToAgent::Pull(wanted) => {
                    let mut report = |bytes| output.send(&ToController::Pulling { bytes });
                    pull(self.platform, self.layout, &wanted, &mut report)
                        .map(|()| Some(ToController::Pulled))
                }
                ToAgent::Collect => {
                    let mut send = |name: &str, text: &str| {
                        let (name, text) = (name.to_owned(), text.to_owned());
                        output.send(&ToController::Part { name, text })
                    };
                    collect::collect(self.platform, self.layout, &mut send)
                        .map(|()| Some(ToController::Collected))
                }
                ToAgent::Retire => {
                    retire::retire(self, &mut service).map(|()| Some(ToController::Retired))
                }
                other => service.send(&other).map(|()| None),
            };
            match result {
                Ok(Some(response)) => output.send(&response)?,
                Ok(None) => {}
                Err(failure) => output.send(&ToController::Failed(failure))?,
            }
        }
    }

    fn hello(&self) -> Result<Option<ToController>> {
        self.allowed.clone()?;
        self.layout.prepare(self.platform)?;
        let recorded = Records::load(self.layout)?.len();
        Ok(Some(ToController::Hello {
            protocol: PROTOCOL,
            agent: self.agent,
            facts: self.platform.facts()?,
            recorded: u32::try_from(recorded).unwrap_or(u32::MAX),
            unfinished: self.unfinished()?,
        }))
    }

    /// The run that is active or was interrupted.
    fn unfinished(&self) -> Result<Option<LockHolder>> {
        let Some(run) = journal::unfinished(self.layout)? else {
            return Ok(None);
        };
        if let Some(holder) = lock::holder(self.layout)?.filter(|holder| holder.run == run) {
            return Ok(Some(holder));
        }
        let events = journal::events(self.layout, &run)?.unwrap_or_default();
        let order = Order::load(self.layout, &run)?;
        Ok(Some(LockHolder {
            run,
            controller: order.map(|order| order.controller).unwrap_or_default(),
            since: events.first().map_or(0, |event| event.at / 1000),
        }))
    }
}

fn protocol(what: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        what,
        "use the same version of casement and the agent",
    )
}
