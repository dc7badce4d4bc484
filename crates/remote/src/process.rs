//! A command on a host: its streams, and its end.

use bytes::Bytes;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::sync::{mpsc, watch};

use crate::error::{Place, RemoteError};
use crate::winrm;

/// What comes from a process, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// From its standard output.
    Stdout(Bytes),
    /// From its standard error.
    Stderr(Bytes),
    /// The channel is closed: nothing follows. The status is missing when the
    /// process was killed, or the connection cut.
    End {
        /// The exit status, where the server gave one.
        status: Option<u32>,
        /// False when the connection ended instead of the process.
        closed: bool,
    },
}

/// What a process said, and its exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit status; none when a signal ended it.
    pub status: Option<u32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// A process that runs on the host.
pub struct Process {
    events: mpsc::UnboundedReceiver<ProcessEvent>,
    stdin: Stdin,
    place: Place,
}

/// The way to a process's standard input.
pub(crate) struct Stdin {
    way: StdinWay,
    ended: watch::Receiver<bool>,
    pub(crate) place: Place,
}

enum StdinWay {
    Ssh(ChannelWriteHalf<Msg>),
    WinRm(winrm::Input),
}

impl Process {
    /// Starts `line` and waits until the server has accepted it.
    pub(crate) async fn exec(
        channel: russh::Channel<Msg>,
        line: &str,
        place: Place,
    ) -> Result<Self, RemoteError> {
        let lost = |source| RemoteError::Lost {
            place: place.clone(),
            step: "starting a command",
            source,
        };
        let (mut reader, writer) = channel.split();
        let asked = writer.exec(true, line).await;
        asked.map_err(|source| lost(Some(Box::new(source))))?;
        let mut early = Vec::new();
        loop {
            match reader.wait().await {
                Some(ChannelMsg::Success) => break,
                Some(ChannelMsg::Failure | ChannelMsg::Close) => {
                    return Err(RemoteError::NotStarted {
                        place,
                        what: format!("`{line}`"),
                    });
                }
                Some(other) => early.push(other),
                None => return Err(lost(None)),
            }
        }
        let (sender, events) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(false);
        tokio::spawn(pump(reader, early, sender, end));
        let stdin = Stdin {
            way: StdinWay::Ssh(writer),
            ended,
            place: place.clone(),
        };
        Ok(Self {
            events,
            stdin,
            place,
        })
    }

    /// A command of a WinRM shell that was started.
    pub(crate) fn over_winrm(
        events: mpsc::UnboundedReceiver<ProcessEvent>,
        input: winrm::Input,
        ended: watch::Receiver<bool>,
        place: Place,
    ) -> Self {
        let stdin = Stdin {
            way: StdinWay::WinRm(input),
            ended,
            place: place.clone(),
        };
        Self {
            events,
            stdin,
            place,
        }
    }

    /// The next event; `None` after the end. May be dropped half-way.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        self.events.recv().await
    }

    /// Writes to the standard input.
    pub async fn write(&self, data: impl Into<Bytes>) -> Result<(), RemoteError> {
        self.stdin.write(data.into()).await
    }

    /// Ends the standard input. A process that has ended already does not mind.
    pub async fn send_eof(&self) {
        match &self.stdin.way {
            StdinWay::Ssh(channel) => drop(channel.eof().await),
            StdinWay::WinRm(input) => drop(input.end().await),
        }
    }

    /// Collects everything until exit status *and* close have come: a server may
    /// send either first, and output after the status.
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
        Err(RemoteError::Lost {
            place: self.place,
            step: "running a command",
            source: None,
        })
    }

    pub(crate) fn into_parts(self) -> (mpsc::UnboundedReceiver<ProcessEvent>, Stdin) {
        (self.events, self.stdin)
    }
}

impl Stdin {
    /// Waits for room in the window, but not longer than the process lives:
    /// nobody opens the window of a closed channel.
    pub(crate) async fn write(&self, data: Bytes) -> Result<(), RemoteError> {
        let lost = |source| RemoteError::Lost {
            place: self.place.clone(),
            step: "writing to a command",
            source,
        };
        let mut ended = self.ended.clone();
        let channel = match &self.way {
            StdinWay::Ssh(channel) => channel,
            StdinWay::WinRm(_) if *ended.borrow() => return Err(lost(None)),
            // The host answers in any case; a request that is given up half-way
            // would take the connection along.
            StdinWay::WinRm(input) => return input.write(&data).await,
        };
        tokio::select! {
            written = channel.data_bytes(data) => {
                written.map_err(|source| lost(Some(Box::new(source))))
            }
            _ = ended.wait_for(|ended| *ended) => Err(lost(None)),
        }
    }
}

/// Moves messages on as they come. An unread channel would hold up every other
/// channel of the session, so the queue behind it has no bound.
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
    // Nobody listens any more: nobody is to be told.
    drop(events.send(ProcessEvent::End { status, closed }));
}
