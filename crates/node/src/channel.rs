//! The channel: what SSH runs. It looks by itself and hands every change to
//! the service, whose events it passes on.
//!
//! If the service goes in the middle of a run, the channel starts it anew and
//! asks for the rest of the events. If the channel goes, the service does not
//! notice.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use casement_resource::wire::{Decoder, Line, LockHolder, PROTOCOL, ToAgent, ToController, encode};
use casement_resource::{Code, Failure, Sha256};

use crate::backstage::Backstage;
use crate::engine::observe;
use crate::platform::{Platform, Result};
use crate::pull::pull;
use crate::state::order::Order;
use crate::state::records::Records;
use crate::state::{Layout, journal, lock};

mod collect;
#[path = "channel/service_connection.rs"]
mod link;
mod read;
mod retire;
#[cfg(test)]
mod tests;

use link::Link;

/// What a channel works with.
pub struct Channel<'a> {
    /// The host, to look at.
    pub platform: &'a dyn Platform,
    /// The state folder.
    pub layout: &'a Layout,
    /// The way to the service.
    pub backstage: Arc<dyn Backstage>,
    /// The hash of the agent's own executable.
    pub agent: Sha256,
    /// Whether this process may change the host; if not, the controller is told
    /// so before anything is touched.
    pub allowed: Result<()>,
}

/// Where lines for the controller go; several threads write whole lines.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    fn say(&self, message: &ToController) -> Result<()> {
        let line = encode(message).map_err(|error| protocol(&error.to_string()))?;
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.flush())
            .map_err(|_| protocol("the controller does not listen any more"))
    }
}

impl Channel<'_> {
    /// Speaks until the controller says `bye` or goes away. Fails only if the
    /// controller cannot be reached any more.
    pub fn run(&self, input: &mut dyn Read, output: Box<dyn Write + Send>) -> Result<()> {
        let output = Output(Arc::new(Mutex::new(output)));
        let mut link = Link::new(Arc::clone(&self.backstage), output.clone());
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut greeted = false;
        loop {
            let message = match decoder.next_line::<ToAgent>() {
                Ok(Some(Line::Message(message))) => message,
                Ok(Some(Line::Noise(_))) => continue,
                Err(error) => {
                    output.say(&ToController::Failed(protocol(&error.to_string())))?;
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
                ToAgent::Bye => return output.say(&ToController::Bye),
                ToAgent::Hello {
                    protocol: PROTOCOL,
                    controller,
                } => {
                    // Nothing else is done for one who may do nothing.
                    greeted = self.allowed.is_ok();
                    link.introduce(controller);
                    self.hello()
                }
                ToAgent::Hello {
                    protocol: other, ..
                } => Err(protocol("the controller speaks another protocol")
                    .values(PROTOCOL.to_string(), other.to_string())),
                _ if !greeted => Err(protocol("the first line must be `hello`")),
                ToAgent::Observe { document } => observe(self.platform, self.layout, &document)
                    .map(|seen| {
                        Some(ToController::Observed {
                            steps: seen.steps,
                            missing_blobs: seen.missing_blobs,
                            kept: seen.kept,
                        })
                    }),
                ToAgent::Read { path, last, since } => {
                    let most = usize::try_from(last).unwrap_or(read::MOST);
                    let read = read::end(self.platform, &path, most.min(read::MOST), since);
                    read.map(|(text, end)| Some(ToController::Text { text, end }))
                }
                ToAgent::Pull(wanted) => {
                    let mut tell = |bytes| output.say(&ToController::Pulling { bytes });
                    pull(self.platform, self.layout, &wanted, &mut tell)
                        .map(|()| Some(ToController::Pulled))
                }
                ToAgent::Collect => {
                    let mut tell = |name: &str, text: &str| {
                        let (name, text) = (name.to_owned(), text.to_owned());
                        output.say(&ToController::Part { name, text })
                    };
                    collect::collect(self.platform, self.layout, &mut tell)
                        .map(|()| Some(ToController::Collected))
                }
                ToAgent::Retire => {
                    retire::retire(self, &mut link).map(|()| Some(ToController::Retired))
                }
                other => link.send(&other).map(|()| None),
            };
            match result {
                Ok(Some(answer)) => output.say(&answer)?,
                Ok(None) => {}
                Err(failure) => output.say(&ToController::Failed(failure))?,
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

    /// The run that has the host, or that was cut off.
    fn unfinished(&self) -> Result<Option<LockHolder>> {
        let Some(run) = journal::unfinished(self.layout)? else {
            return Ok(None);
        };
        if let Some(holder) = lock::holder(self.layout)?.filter(|holder| holder.run == run) {
            return Ok(Some(holder));
        }
        let began = journal::events(self.layout, &run)?.unwrap_or_default();
        let order = Order::load(self.layout, &run)?;
        Ok(Some(LockHolder {
            run,
            controller: order.map(|order| order.controller).unwrap_or_default(),
            since: began.first().map_or(0, |event| event.at / 1000),
        }))
    }
}

fn protocol(what: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        what,
        "use a casement and an agent of the same version",
    )
}
