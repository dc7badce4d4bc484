//! One HTTP connection to WinRM: opened, authenticated, and reopened when the host has
//! closed it.
//!
//! A login belongs to a connection, not to a request, and sealed messages are numbered:
//! one request at a time, in order. Two concurrent requests need two clients.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::sealed::Sealer;
use super::target::{Login, Protection, WinRmTarget};
use super::{WinRmError, login, sealed, tls};
use crate::error::{ConnectionError, HostLabel, RemoteError};
use crate::session::connect_tcp;

/// Larger than any response: the host was given a limit.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;
const SOAP: &str = "application/soap+xml;charset=UTF-8";

pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

/// Connects on demand.
pub(crate) struct HttpClient {
    target: Arc<WinRmTarget>,
    host: HostLabel,
    connection: Option<HttpConnection>,
}

pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    pub(super) sealing: Option<Box<dyn Sealer>>,
    /// Sent with each request, if the login is not bound to the connection.
    pub(super) authorization: Option<HeaderValue>,
    /// Binds a login to this TLS connection.
    pub(super) binding: Option<Vec<u8>>,
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl HttpClient {
    pub(crate) fn new(target: Arc<WinRmTarget>, host: HostLabel) -> Self {
        Self {
            target,
            host,
            connection: None,
        }
    }

    /// Sends an envelope and waits for the response. An idle connection that the host
    /// has closed is reopened; one that ends during a request is lost, because the
    /// request may have been executed.
    pub(crate) async fn send(
        &mut self,
        envelope: &str,
        limit: Duration,
    ) -> Result<HttpResponse, RemoteError> {
        let mut retried = false;
        loop {
            let mut connection = self.take_connection().await?;
            let sent = timeout(limit, connection.post(&self.target, &self.host, envelope)).await;
            let reply = sent.map_err(|_| {
                RemoteError::Connection(ConnectionError::TimedOut {
                    host: self.host.clone(),
                    timeout: limit,
                    step: "waiting for a response",
                })
            })??;
            match reply {
                // The host requires a new login and has not executed the request.
                None if !retried => retried = true,
                None => return Err(login::authentication_failed(&self.target, &self.host, "")),
                Some(reply) => {
                    self.connection = Some(connection);
                    return Ok(reply);
                }
            }
        }
    }

    /// Takes the connection out of `self` for the duration of a request: canceling a
    /// request closes it.
    async fn take_connection(&mut self) -> Result<HttpConnection, RemoteError> {
        if let Some(mut connection) = self.connection.take()
            && connection.sender.ready().await.is_ok()
        {
            return Ok(connection);
        }
        let limit = self.target.connect_timeout;
        let connected = timeout(limit, connect(&self.target, &self.host)).await;
        let mut connection = connected.map_err(|_| {
            RemoteError::Connection(ConnectionError::TimedOut {
                host: self.host.clone(),
                timeout: limit,
                step: "connecting",
            })
        })??;
        login::log_in(&mut connection, &self.target, &self.host).await?;
        Ok(connection)
    }
}

async fn connect(target: &WinRmTarget, host: &HostLabel) -> Result<HttpConnection, RemoteError> {
    if target.protection == Protection::Sealed && matches!(target.login, Login::Basic(_)) {
        return Err(WinRmError::Unencrypted {
            host: host.clone(),
            reason: "`auth: basic` over `transport: http` would send the password in clear text"
                .to_owned(),
        }
        .into());
    }
    let stream = connect_tcp(host).await?;
    match &target.protection {
        Protection::Sealed => HttpConnection::handshake(stream, None, host).await,
        Protection::Tls(trust) => {
            let stream = tls::handshake(stream, trust, host).await?;
            let binding = tls::channel_binding(&stream);
            HttpConnection::handshake(stream, binding, host).await
        }
    }
}

impl HttpConnection {
    async fn handshake(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        binding: Option<Vec<u8>>,
        host: &HostLabel,
    ) -> Result<Self, RemoteError> {
        let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = connected.map_err(|error| connection_lost(host, error))?;
        let driver = tokio::spawn(async move {
            // Errors surface in the sender.
            let _ = connection.await;
        });
        Ok(Self {
            sender,
            driver,
            sealing: None,
            authorization: None,
            binding,
        })
    }

    /// Sends one request without sealing it.
    pub(super) async fn send_raw(
        &mut self,
        target: &WinRmTarget,
        host: &HostLabel,
        authorization: Option<&HeaderValue>,
        (kind, body): (&str, Vec<u8>),
    ) -> Result<Response<Incoming>, RemoteError> {
        let mut request = hyper::Request::builder()
            .method(Method::POST)
            .uri("/wsman")
            .header(HOST, target.authority())
            .header(USER_AGENT, concat!("casement/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, kind);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request
            .body(Full::from(body))
            .map_err(|error| connection_lost(host, error))?;
        let ready = self.sender.ready().await;
        ready.map_err(|error| connection_lost(host, error))?;
        let response = self.sender.send_request(request).await;
        response.map_err(|error| connection_lost(host, error))
    }

    /// Sends an empty request with an authentication token.
    pub(super) async fn send_token(
        &mut self,
        target: &WinRmTarget,
        host: &HostLabel,
        authorization: &HeaderValue,
    ) -> Result<TokenResponse, RemoteError> {
        let empty = (SOAP, Vec::new());
        let response = self
            .send_raw(target, host, Some(authorization), empty)
            .await?;
        let status = response.status();
        let offers = response.headers().get_all(WWW_AUTHENTICATE);
        let offers = offers.iter().filter_map(|offer| offer.to_str().ok());
        let offers = offers.map(str::to_owned).collect();
        // The body must be read before the next request.
        read(response, host).await?;
        Ok(TokenResponse { status, offers })
    }

    /// `None` if the host requires a login.
    async fn post(
        &mut self,
        target: &WinRmTarget,
        host: &HostLabel,
        envelope: &str,
    ) -> Result<Option<HttpResponse>, RemoteError> {
        let (kind, body) = match &mut self.sealing {
            Some(sealing) => {
                let packed = sealed::pack(&mut **sealing, envelope.as_bytes());
                let packed = packed.map_err(|error| connection_lost(host, error))?;
                (sealed::CONTENT_TYPE, packed)
            }
            None => (SOAP, envelope.as_bytes().to_vec()),
        };
        let authorization = self.authorization.clone();
        let response = self
            .send_raw(target, host, authorization.as_ref(), (kind, body))
            .await?;
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let is_sealed = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("multipart/encrypted"));
        let body = read(response, host).await?;
        let text = match &mut self.sealing {
            Some(sealing) if is_sealed => {
                let unsealed = sealed::unpack(&mut **sealing, &body);
                unsealed.map_err(|error| WinRmError::Tampered {
                    host: host.clone(),
                    reason: error.to_string(),
                })?
            }
            Some(_) if !body.is_empty() => {
                return Err(WinRmError::Unencrypted {
                    host: host.clone(),
                    reason: format!("the response is not encrypted (HTTP {})", status.as_u16()),
                }
                .into());
            }
            _ => body.to_vec(),
        };
        Ok(Some(HttpResponse {
            status,
            text: String::from_utf8_lossy(&text).into_owned(),
        }))
    }
}

pub(super) struct TokenResponse {
    pub(super) status: StatusCode,
    /// The `WWW-Authenticate` headers.
    pub(super) offers: Vec<String>,
}

async fn read(response: Response<Incoming>, host: &HostLabel) -> Result<Bytes, RemoteError> {
    let limited = Limited::new(response.into_body(), MAX_RESPONSE);
    let body = limited.collect().await;
    let body = body.map_err(|source| {
        RemoteError::Connection(ConnectionError::Lost {
            host: host.clone(),
            step: "reading a response",
            source: Some(source),
        })
    })?;
    Ok(body.to_bytes())
}

fn connection_lost(
    host: &HostLabel,
    error: impl std::error::Error + Send + Sync + 'static,
) -> RemoteError {
    RemoteError::Connection(ConnectionError::Lost {
        host: host.clone(),
        step: "a WinRM request",
        source: Some(Box::new(error)),
    })
}
