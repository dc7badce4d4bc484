//! The control channel: messages to and from the agent's process, and how it
//! ended.

use std::collections::VecDeque;

use bytes::Bytes;
use casement_resource::wire::{Decoder, Line, ToAgent, ToController, encode};
use tokio::sync::mpsc;

use crate::error::{AgentError, HostLabel, RemoteError};
use crate::process::{Process, ProcessEvent, Stdin};

/// How many of the last lines that are not messages are kept.
const NOISE_LINES: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    Message(Box<ToController>),
    End(ChannelEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelEnd {
    /// The last message was `bye`.
    Bye,
    /// The process exited with this status without a `bye`.
    Exited(u32),
    /// A signal or the server ended the process.
    Killed,
    /// The connection was lost; the agent may continue without it.
    ConnectionLost,
}

pub struct Channel {
    events: mpsc::UnboundedReceiver<ProcessEvent>,
    stdin: Stdin,
    stdout: Decoder,
    stderr: Vec<u8>,
    noise: VecDeque<String>,
    received_bye: bool,
    end: Option<ChannelEnd>,
}

impl Channel {
    /// Takes a process that speaks the wire protocol.
    pub fn new(process: Process) -> Self {
        let (events, stdin) = process.into_parts();
        Self {
            events,
            stdin,
            stdout: Decoder::new(),
            stderr: Vec::new(),
            noise: VecDeque::new(),
            received_bye: false,
            end: None,
        }
    }

    /// The next message or the end; after the end, the end again. Cancel safe. After an
    /// error, the next call continues behind the invalid line.
    pub async fn next(&mut self) -> Result<Incoming, RemoteError> {
        loop {
            match self.stdout.next_line() {
                Ok(Some(Line::Message(message))) => {
                    self.received_bye = message == ToController::Bye;
                    return Ok(Incoming::Message(Box::new(message)));
                }
                Ok(Some(Line::Noise(text))) => {
                    self.keep_noise(text);
                    continue;
                }
                Ok(None) => {}
                Err(source) => {
                    return Err(RemoteError::Agent(AgentError::Wire {
                        host: self.host().clone(),
                        source,
                    }));
                }
            }
            if let Some(end) = self.end {
                return Ok(Incoming::End(end));
            }
            let event = self.events.recv().await;
            self.handle_event(event);
        }
    }

    pub async fn send(&self, message: &ToAgent) -> Result<(), RemoteError> {
        let line = encode(message).map_err(|source| {
            RemoteError::Agent(AgentError::Wire {
                host: self.host().clone(),
                source,
            })
        })?;
        self.stdin.write(Bytes::from(line)).await
    }

    /// The last lines that are not messages (banners, standard error).
    pub fn noise(&self) -> impl Iterator<Item = &str> {
        self.noise.iter().map(String::as_str)
    }

    fn host(&self) -> &HostLabel {
        &self.stdin.host
    }

    fn handle_event(&mut self, event: Option<ProcessEvent>) {
        match event {
            Some(ProcessEvent::Stdout(data)) => self.stdout.push(&data),
            Some(ProcessEvent::Stderr(data)) => {
                self.stderr.extend_from_slice(&data);
                while let Some(at) = self.stderr.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.stderr.drain(..=at).collect();
                    self.keep_noise(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
            }
            Some(ProcessEvent::End { status, closed }) => {
                // A line without a line break is incomplete and never parsed as a
                // message.
                let stderr = std::mem::take(&mut self.stderr);
                self.keep_noise(self.stdout.rest());
                self.keep_noise(String::from_utf8_lossy(&stderr).into_owned());
                self.end = Some(match (self.received_bye, status, closed) {
                    (true, ..) => ChannelEnd::Bye,
                    (_, Some(status), _) => ChannelEnd::Exited(status),
                    (_, None, true) => ChannelEnd::Killed,
                    (_, None, false) => ChannelEnd::ConnectionLost,
                });
            }
            None => self.end = Some(ChannelEnd::ConnectionLost),
        }
    }

    fn keep_noise(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if self.noise.len() == NOISE_LINES {
            self.noise.pop_front();
        }
        self.noise.push_back(text);
    }
}
