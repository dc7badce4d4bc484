//! A connection to one host, logged in: commands and SFTP start from here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{ChannelMsg, Disconnect, Preferred, cipher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::command::{self, HostSystem};
use crate::error::{Place, RemoteError};
use crate::host_key::{HandshakeError, HostKeyJudge};
use crate::login::Login;
use crate::process::{Output, Process};
use crate::sftp::Sftp;
use crate::target::Target;

/// AES-GCM first: every server has it, and the processor does it.
const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_128_CTR,
];

/// So long a host that refuses something may take to say that it is still there.
const PONG: Duration = Duration::from_secs(10);

/// A connection that is logged in. It ends when it is dropped.
pub struct Session {
    handle: Handle<HostKeyJudge>,
    place: Place,
    /// The bastion's session: it must not end before this one.
    _hop: Option<Arc<Session>>,
}

impl Session {
    /// Connects, checks the host's key, and logs in.
    pub async fn connect(target: &Target) -> Result<Self, RemoteError> {
        let place = Place::of(target);
        let waited = target.connect_timeout;
        let late = |step| {
            let place = place.clone();
            move |_| RemoteError::NoAnswer {
                place,
                waited,
                step,
            }
        };
        let judge = HostKeyJudge::new(target, place.clone())?;
        let mut hop = None;
        let shaken = match &target.via {
            None => {
                let stream = timeout(waited, dial(&place))
                    .await
                    .map_err(late("a connection"))??;
                timeout(waited, shake_hands(stream, judge, &place)).await
            }
            Some(via) => {
                let (channel, session) = timeout(waited, via.through(&place))
                    .await
                    .map_err(late("a connection through the bastion"))??;
                hop = Some(session);
                let stream = channel.into_stream();
                timeout(waited, shake_hands(stream, judge, &place)).await
            }
        };
        let mut handle = shaken.map_err(late("the SSH handshake"))??;
        let login = Login {
            handle: &mut handle,
            target,
            place: &place,
        };
        timeout(waited, login.log_in())
            .await
            .map_err(late("the login"))??;
        Ok(Self {
            handle,
            place,
            _hop: hop,
        })
    }

    pub(crate) fn handle(&self) -> &Handle<HostKeyJudge> {
        &self.handle
    }

    /// The host, as messages name it.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Starts a command line; the host's shell reads it.
    pub async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        let channel = self.open("a command").await?;
        Process::exec(channel, line, self.place.clone()).await
    }

    /// Runs a command line to its end, with nothing on its standard input.
    pub async fn run(&self, line: &str) -> Result<Output, RemoteError> {
        let process = self.start(line).await?;
        process.send_eof().await;
        process.output().await
    }

    /// Finds out what the host is, whatever its shell.
    pub async fn probe(&self) -> Result<HostSystem, RemoteError> {
        let output = self.run(command::PROBE).await?;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        command::read_probe(&answer).ok_or_else(|| RemoteError::UnknownSystem {
            place: self.place.clone(),
            answer: answer.trim().to_owned(),
        })
    }

    /// Opens SFTP.
    pub async fn sftp(&self) -> Result<Sftp, RemoteError> {
        let mut channel = self.open("SFTP").await?;
        let asked = channel.request_subsystem(true, "sftp").await;
        if asked.is_err() || !accepted(&mut channel).await {
            return Err(self.no_sftp().await);
        }
        match Sftp::start(channel.into_stream(), self.place.clone()).await {
            Err(RemoteError::NotStarted { .. }) => Err(self.no_sftp().await),
            started => started,
        }
    }

    /// Why SFTP did not start: the host does not do it, or the connection is gone,
    /// which looks the same from within.
    async fn no_sftp(&self) -> RemoteError {
        let alive = timeout(PONG, self.handle.send_ping()).await;
        let place = self.place.clone();
        if matches!(alive, Ok(Ok(()))) && !self.is_closed() {
            let what = "SFTP".to_owned();
            return RemoteError::NotStarted { place, what };
        }
        RemoteError::Lost {
            place,
            step: "starting SFTP",
            source: None,
        }
    }

    /// Says goodbye. Dropping a session does without.
    pub async fn close(self) {
        let ended = self.handle.disconnect(Disconnect::ByApplication, "", "");
        // The other side may be gone already, which is what was wanted.
        drop(ended.await);
    }

    async fn open(&self, what: &str) -> Result<russh::Channel<client::Msg>, RemoteError> {
        let opened = self.handle.channel_open_session().await;
        opened.map_err(|error| match error {
            russh::Error::ChannelOpenFailure(_) => RemoteError::NotStarted {
                place: self.place.clone(),
                what: what.to_owned(),
            },
            other => RemoteError::Lost {
                place: self.place.clone(),
                step: "opening a channel",
                source: Some(Box::new(other)),
            },
        })
    }
}

/// Waits until the server has said whether it does what it was asked for.
async fn accepted(channel: &mut russh::Channel<client::Msg>) -> bool {
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Success) => return true,
            Some(ChannelMsg::Failure | ChannelMsg::Close) | None => return false,
            Some(_) => {}
        }
    }
}

pub(crate) async fn dial(place: &Place) -> Result<TcpStream, RemoteError> {
    let found = tokio::net::lookup_host((place.address(), place.port())).await;
    let place = || place.clone();
    let addresses: Vec<_> = found
        .map_err(|source| RemoteError::NoAddress {
            place: place(),
            source,
        })?
        .collect();
    let stream = TcpStream::connect(addresses.as_slice()).await;
    let stream = stream.map_err(|source| match source.kind() {
        io::ErrorKind::ConnectionRefused => RemoteError::NotListening { place: place() },
        io::ErrorKind::TimedOut => RemoteError::NoAnswer {
            place: place(),
            waited: Duration::from_secs(0),
            step: "a connection",
        },
        io::ErrorKind::ConnectionReset => RemoteError::Lost {
            place: place(),
            step: "connecting",
            source: Some(Box::new(source)),
        },
        _ => RemoteError::NoRoute {
            place: place(),
            source,
        },
    })?;
    // Small lines go both ways: waiting to fill a packet only costs time.
    drop(stream.set_nodelay(true));
    Ok(stream)
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    judge: HostKeyJudge,
    place: &Place,
) -> Result<Handle<HostKeyJudge>, RemoteError> {
    let config = client::Config {
        keepalive_interval: Some(Duration::from_secs(5)),
        keepalive_max: 3,
        nodelay: true,
        window_size: 8 * 1024 * 1024,
        preferred: Preferred {
            key: judge.preferred_keys(),
            cipher: CIPHERS.into(),
            ..Preferred::DEFAULT
        },
        ..client::Config::default()
    };
    let shaken = client::connect_stream(Arc::new(config), stream, judge).await;
    shaken.map_err(|error| match error {
        HandshakeError::HostKey(error) => *error,
        HandshakeError::Ssh(source) => RemoteError::Handshake {
            place: place.clone(),
            source,
        },
    })
}
