//! The control channel: messages to and from the agent's process, and how it
//! ended.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use casement_resource::wire::{Decoder, Line, ToAgent, ToController, encode};
use tokio::sync::mpsc;

use crate::error::{Place, RemoteError};
use crate::process::{Process, ProcessEvent, Stdin};

/// So much noise is kept for whoever asks for it.
const NOISE_LINES: usize = 200;

/// What comes over the channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// The agent says something.
    Message(Box<ToController>),
    /// Nothing more comes.
    End(ChannelEnd),
}

/// How the conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelEnd {
    /// The agent said `bye` as the last thing.
    Bye,
    /// The process ended by itself without a `bye`, with this status.
    Exited(u32),
    /// A signal, or the server, ended the process.
    Killed,
    /// The connection went away; what the agent began may go on without it.
    Cut,
}

/// A running channel process.
pub struct Channel {
    events: mpsc::UnboundedReceiver<ProcessEvent>,
    sender: MessageSender,
    stdout: Decoder,
    stderr: Vec<u8>,
    noise: VecDeque<String>,
    said_bye: bool,
    end: Option<ChannelEnd>,
}

/// Sends messages, also while another task reads.
#[derive(Clone)]
pub struct MessageSender {
    stdin: Arc<Stdin>,
}

impl Channel {
    /// Takes over a process that speaks the wire.
    pub fn new(process: Process) -> Self {
        let (events, stdin) = process.into_parts();
        Self {
            events,
            sender: MessageSender {
                stdin: Arc::new(stdin),
            },
            stdout: Decoder::new(),
            stderr: Vec::new(),
            noise: VecDeque::new(),
            said_bye: false,
            end: None,
        }
    }

    /// The next message, or the end; after the end, the end again. May be
    /// dropped half-way without losing anything. After an error the next call
    /// goes on behind the line that was not understood.
    pub async fn next(&mut self) -> Result<Incoming, RemoteError> {
        loop {
            match self.stdout.next_line() {
                Ok(Some(Line::Message(message))) => {
                    self.said_bye = message == ToController::Bye;
                    return Ok(Incoming::Message(Box::new(message)));
                }
                Ok(Some(Line::Noise(text))) => {
                    self.hush(text);
                    continue;
                }
                Ok(None) => {}
                Err(source) => {
                    return Err(RemoteError::Wire {
                        place: self.place().clone(),
                        source,
                    });
                }
            }
            if let Some(end) = self.end {
                return Ok(Incoming::End(end));
            }
            let event = self.events.recv().await;
            self.take(event);
        }
    }

    /// Sends one message.
    pub async fn send(&self, message: &ToAgent) -> Result<(), RemoteError> {
        self.sender.send(message).await
    }

    /// A second hand on the sending side.
    pub fn sender(&self) -> MessageSender {
        self.sender.clone()
    }

    /// The last lines that were no messages (banners, standard error).
    pub fn noise(&self) -> impl Iterator<Item = &str> {
        self.noise.iter().map(String::as_str)
    }

    fn place(&self) -> &Place {
        &self.sender.stdin.place
    }

    fn take(&mut self, event: Option<ProcessEvent>) {
        match event {
            Some(ProcessEvent::Stdout(data)) => self.stdout.push(&data),
            Some(ProcessEvent::Stderr(data)) => {
                self.stderr.extend_from_slice(&data);
                while let Some(at) = self.stderr.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.stderr.drain(..=at).collect();
                    self.hush(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
            }
            Some(ProcessEvent::End { status, closed }) => {
                // A line without its end was cut: it is never taken for whole.
                let stderr = std::mem::take(&mut self.stderr);
                self.hush(self.stdout.rest());
                self.hush(String::from_utf8_lossy(&stderr).into_owned());
                self.end = Some(match (self.said_bye, status, closed) {
                    (true, ..) => ChannelEnd::Bye,
                    (_, Some(status), _) => ChannelEnd::Exited(status),
                    (_, None, true) => ChannelEnd::Killed,
                    (_, None, false) => ChannelEnd::Cut,
                });
            }
            None => self.end = Some(ChannelEnd::Cut),
        }
    }

    fn hush(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if self.noise.len() == NOISE_LINES {
            self.noise.pop_front();
        }
        self.noise.push_back(text);
    }
}

impl MessageSender {
    /// Sends one message.
    pub async fn send(&self, message: &ToAgent) -> Result<(), RemoteError> {
        let line = encode(message).map_err(|source| RemoteError::Wire {
            place: self.stdin.place.clone(),
            source,
        })?;
        self.stdin.write(Bytes::from(line)).await
    }
}
