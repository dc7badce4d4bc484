//! An authenticated SSH connection to a host, for commands and SFTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{ChannelMsg, Disconnect, Preferred, cipher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::error::{AgentError, ConnectionError, HostLabel, RemoteError};
use crate::host_key::{HandshakeError, HostKeyVerifier};
use crate::login::Login;
use crate::process::{Output, Process};
use crate::sftp::Sftp;
use crate::target::Target;

/// AES-GCM first: every server supports it, and CPUs accelerate it.
const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_128_CTR,
];

/// How long a host that refuses a request may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Disconnects when dropped.
pub struct Session {
    handle: Handle<HostKeyVerifier>,
    host: HostLabel,
    /// The bastion's session, which must outlive this one.
    _hop: Option<Arc<Session>>,
}

impl Session {
    /// Connects, verifies the host key, and authenticates.
    pub async fn connect(target: &Target) -> Result<Self, RemoteError> {
        let host = HostLabel::ssh(target);
        let limit = target.connect_timeout;
        let timed_out = |step| {
            let host = host.clone();
            move |_| {
                RemoteError::Connection(ConnectionError::TimedOut {
                    host,
                    timeout: limit,
                    step,
                })
            }
        };
        let verifier = HostKeyVerifier::new(target, host.clone())?;
        let mut hop = None;
        let handle = match &target.via {
            None => {
                let stream = timeout(limit, connect_tcp(&host))
                    .await
                    .map_err(timed_out("connecting"))??;
                timeout(limit, handshake(stream, verifier, &host)).await
            }
            Some(via) => {
                let (channel, session) = timeout(limit, via.open_stream(&host))
                    .await
                    .map_err(timed_out("connecting through the bastion"))??;
                hop = Some(session);
                let stream = channel.into_stream();
                timeout(limit, handshake(stream, verifier, &host)).await
            }
        };
        let mut handle = handle.map_err(timed_out("the SSH handshake"))??;
        let login = Login {
            handle: &mut handle,
            target,
            host: &host,
        };
        timeout(limit, login.log_in())
            .await
            .map_err(timed_out("authentication"))??;
        Ok(Self {
            handle,
            host,
            _hop: hop,
        })
    }

    pub(crate) fn handle(&self) -> &Handle<HostKeyVerifier> {
        &self.handle
    }

    pub fn host(&self) -> &HostLabel {
        &self.host
    }

    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// The host's login shell interprets `line`.
    pub async fn start(&self, line: &str) -> Result<Process, RemoteError> {
        let channel = self.open("a command").await?;
        Process::exec(channel, line, self.host.clone()).await
    }

    /// Runs a command line to its end, with empty standard input.
    pub async fn run(&self, line: &str) -> Result<Output, RemoteError> {
        let process = self.start(line).await?;
        process.send_eof().await;
        process.output().await
    }

    pub async fn sftp(&self) -> Result<Sftp, RemoteError> {
        let mut channel = self.open("SFTP").await?;
        let requested = channel.request_subsystem(true, "sftp").await;
        if requested.is_err() || !is_accepted(&mut channel).await {
            return Err(self.sftp_error().await);
        }
        match Sftp::start(channel.into_stream(), self.host.clone()).await {
            Err(RemoteError::Agent(AgentError::StartRefused { .. })) => {
                Err(self.sftp_error().await)
            }
            started => started,
        }
    }

    /// Why SFTP did not start: the host does not support it, or the connection was lost,
    /// which look alike here.
    async fn sftp_error(&self) -> RemoteError {
        let pong = timeout(PING_TIMEOUT, self.handle.send_ping()).await;
        let host = self.host.clone();
        if matches!(pong, Ok(Ok(()))) && !self.is_closed() {
            let what = "SFTP".to_owned();
            return RemoteError::Agent(AgentError::StartRefused { host, what });
        }
        RemoteError::Connection(ConnectionError::Lost {
            host,
            step: "starting SFTP",
            source: None,
        })
    }

    /// Disconnects cleanly. Dropping a session just closes the connection.
    pub async fn close(self) {
        let disconnected = self.handle.disconnect(Disconnect::ByApplication, "", "");
        // The connection may be closed already.
        drop(disconnected.await);
    }

    async fn open(&self, what: &str) -> Result<russh::Channel<client::Msg>, RemoteError> {
        let opened = self.handle.channel_open_session().await;
        opened.map_err(|error| match error {
            russh::Error::ChannelOpenFailure(_) => RemoteError::Agent(AgentError::StartRefused {
                host: self.host.clone(),
                what: what.to_owned(),
            }),
            other => RemoteError::Connection(ConnectionError::Lost {
                host: self.host.clone(),
                step: "opening a channel",
                source: Some(Box::new(other)),
            }),
        })
    }
}

/// Waits for the response to a channel request.
async fn is_accepted(channel: &mut russh::Channel<client::Msg>) -> bool {
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Success) => return true,
            Some(ChannelMsg::Failure | ChannelMsg::Close) | None => return false,
            Some(_) => {}
        }
    }
}

pub(crate) async fn connect_tcp(host: &HostLabel) -> Result<TcpStream, RemoteError> {
    let found = tokio::net::lookup_host((host.address(), host.port())).await;
    let host = || host.clone();
    let addresses: Vec<_> = found
        .map_err(|source| {
            RemoteError::Connection(ConnectionError::NameNotResolved {
                host: host(),
                source,
            })
        })?
        .collect();
    let started = Instant::now();
    let stream = TcpStream::connect(addresses.as_slice()).await;
    let stream = stream.map_err(|source| match source.kind() {
        io::ErrorKind::ConnectionRefused => {
            RemoteError::Connection(ConnectionError::Refused { host: host() })
        }
        io::ErrorKind::TimedOut => RemoteError::Connection(ConnectionError::TimedOut {
            host: host(),
            timeout: started.elapsed(),
            step: "connecting",
        }),
        io::ErrorKind::ConnectionReset => RemoteError::Connection(ConnectionError::Lost {
            host: host(),
            step: "connecting",
            source: Some(Box::new(source)),
        }),
        _ => RemoteError::Connection(ConnectionError::NoRoute {
            host: host(),
            source,
        }),
    })?;
    // Messages are small; batching them only adds latency.
    drop(stream.set_nodelay(true));
    Ok(stream)
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    verifier: HostKeyVerifier,
    host: &HostLabel,
) -> Result<Handle<HostKeyVerifier>, RemoteError> {
    let config = client::Config {
        keepalive_interval: Some(Duration::from_secs(5)),
        keepalive_max: 3,
        nodelay: true,
        window_size: 8 * 1024 * 1024,
        preferred: Preferred {
            key: verifier.preferred_keys(),
            cipher: CIPHERS.into(),
            ..Preferred::DEFAULT
        },
        ..client::Config::default()
    };
    let handle = client::connect_stream(Arc::new(config), stream, verifier).await;
    handle.map_err(|error| match error {
        HandshakeError::HostKey(error) => *error,
        HandshakeError::Ssh(source) => RemoteError::Connection(ConnectionError::Handshake {
            host: host.clone(),
            source,
        }),
    })
}
