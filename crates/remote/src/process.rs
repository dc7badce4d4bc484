//! A command that runs on a host: its streams and its exit.

use bytes::Bytes;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::sync::{mpsc, watch};

use crate::error::{AgentError, ConnectionError, HostLabel, RemoteError};
use crate::winrm;

/// In the order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    /// The last event. The status is missing if the process was killed or the connection
    /// was lost.
    End {
        status: Option<u32>,
        /// False if the connection ended, not the process.
        closed: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// `None` if a signal ended the process.
    pub status: Option<u32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

pub struct Process {
    events: mpsc::UnboundedReceiver<ProcessEvent>,
    stdin: Stdin,
    host: HostLabel,
}

pub(crate) struct Stdin {
    channel: StdinChannel,
    ended: watch::Receiver<bool>,
    pub(crate) host: HostLabel,
}

enum StdinChannel {
    Ssh(ChannelWriteHalf<Msg>),
    WinRm(winrm::Input),
}

impl Process {
    /// Starts `line` and waits until the server accepts it.
    pub(crate) async fn exec(
        channel: russh::Channel<Msg>,
        line: &str,
        host: HostLabel,
    ) -> Result<Self, RemoteError> {
        let connection_lost = |source| {
            RemoteError::Connection(ConnectionError::Lost {
                host: host.clone(),
                step: "starting a command",
                source,
            })
        };
        let (mut reader, writer) = channel.split();
        let requested = writer.exec(true, line).await;
        requested.map_err(|source| connection_lost(Some(Box::new(source))))?;
        let mut early = Vec::new();
        loop {
            match reader.wait().await {
                Some(ChannelMsg::Success) => break,
                Some(ChannelMsg::Failure | ChannelMsg::Close) => {
                    return Err(RemoteError::Agent(AgentError::StartRefused {
                        host,
                        what: format!("`{line}`"),
                    }));
                }
                Some(other) => early.push(other),
                None => return Err(connection_lost(None)),
            }
        }
        let (sender, events) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(false);
        tokio::spawn(pump(reader, early, sender, end));
        let stdin = Stdin {
            channel: StdinChannel::Ssh(writer),
            ended,
            host: host.clone(),
        };
        Ok(Self {
            events,
            stdin,
            host,
        })
    }

    pub(crate) fn from_winrm(
        events: mpsc::UnboundedReceiver<ProcessEvent>,
        input: winrm::Input,
        ended: watch::Receiver<bool>,
        host: HostLabel,
    ) -> Self {
        let stdin = Stdin {
            channel: StdinChannel::WinRm(input),
            ended,
            host: host.clone(),
        };
        Self {
            events,
            stdin,
            host,
        }
    }

    /// The next event; `None` after the last. Cancel safe.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        self.events.recv().await
    }

    pub async fn write(&self, data: impl Into<Bytes>) -> Result<(), RemoteError> {
        self.stdin.write(data.into()).await
    }

    /// Closes standard input; has no effect on a process that has ended.
    pub async fn send_eof(&self) {
        match &self.stdin.channel {
            StdinChannel::Ssh(channel) => drop(channel.eof().await),
            StdinChannel::WinRm(input) => drop(input.end().await),
        }
    }

    /// Collects the output until exit status *and* close have arrived: a server may send
    /// either first, and output after the status.
    pub async fn output(mut self) -> Result<Output, RemoteError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Some(event) = self.next().await {
            match event {
                ProcessEvent::Stdout(data) => stdout.extend_from_slice(&data),
                ProcessEvent::Stderr(data) => stderr.extend_from_slice(&data),
                ProcessEvent::End {
                    status,
                    closed: true,
                } => {
                    return Ok(Output {
                        status,
                        stdout,
                        stderr,
                    });
                }
                ProcessEvent::End { closed: false, .. } => break,
            }
        }
        Err(RemoteError::Connection(ConnectionError::Lost {
            host: self.host,
            step: "running a command",
            source: None,
        }))
    }

    pub(crate) fn into_parts(self) -> (mpsc::UnboundedReceiver<ProcessEvent>, Stdin) {
        (self.events, self.stdin)
    }
}

impl Stdin {
    /// Waits for space in the channel window, but only while the process runs: the
    /// window of a closed channel never opens.
    pub(crate) async fn write(&self, data: Bytes) -> Result<(), RemoteError> {
        let connection_lost = |source| {
            RemoteError::Connection(ConnectionError::Lost {
                host: self.host.clone(),
                step: "writing to a command",
                source,
            })
        };
        let mut ended = self.ended.clone();
        let channel = match &self.channel {
            StdinChannel::Ssh(channel) => channel,
            StdinChannel::WinRm(_) if *ended.borrow() => return Err(connection_lost(None)),
            // The host responds in any case; canceling a request would break the
            // connection.
            StdinChannel::WinRm(input) => return input.write(&data).await,
        };
        tokio::select! {
            written = channel.data_bytes(data) => {
                written.map_err(|source| connection_lost(Some(Box::new(source))))
            }
            _ = ended.wait_for(|ended| *ended) => Err(connection_lost(None)),
        }
    }
}

/// Forwards messages as they arrive. An unread channel would block every other channel
/// of the session, so the queue is unbounded.
async fn pump(
    mut reader: ChannelReadHalf,
    early: Vec<ChannelMsg>,
    events: mpsc::UnboundedSender<ProcessEvent>,
    end: watch::Sender<bool>,
) {
    let mut early = early.into_iter();
    let (mut status, mut closed) = (None, false);
    loop {
        let message = match early.next() {
            Some(message) => Some(message),
            None => reader.wait().await,
        };
        let event = match message {
            Some(ChannelMsg::Data { data }) => ProcessEvent::Stdout(data),
            Some(ChannelMsg::ExtendedData { data, .. }) => ProcessEvent::Stderr(data),
            Some(ChannelMsg::ExitStatus { exit_status }) => {
                status = Some(exit_status);
                continue;
            }
            Some(ChannelMsg::ExitSignal { .. }) => {
                closed = true;
                continue;
            }
            Some(ChannelMsg::Close) => {
                closed = true;
                break;
            }
            Some(_) => continue,
            None => break,
        };
        if events.send(event).is_err() {
            return;
        }
    }
    end.send_replace(true);
    let closed = closed || status.is_some();
    // The receiver may be gone.
    drop(events.send(ProcessEvent::End { status, closed }));
}
