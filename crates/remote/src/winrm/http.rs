//! One connection to WinRM: dialled, logged in, and dialled again when the host
//! has closed it.
//!
//! A login is a connection's, not a request's, and its seals are numbered: one
//! request at a time, in order. Whoever wants two at once takes two wires.

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

use super::sealed::Seals;
use super::target::{Login, Protection, WinRmTarget};
use super::{WinRmError, login, sealed, tls};
use crate::error::{Place, RemoteError};
use crate::session::dial;

/// Larger answers are not read: the host was told what fits.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;
const SOAP: &str = "application/soap+xml;charset=UTF-8";

/// An answer over HTTP, opened.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

/// A connection, or the way to one.
pub(crate) struct Wire {
    target: Arc<WinRmTarget>,
    place: Place,
    open: Option<Open>,
}

pub(super) struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    pub(super) sealing: Option<Box<dyn Seals>>,
    /// Said with each request, where a login is not for the whole connection.
    pub(super) authorization: Option<HeaderValue>,
    /// What ties a login to this connection.
    pub(super) binding: Option<Vec<u8>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Wire {
    pub(crate) fn new(target: Arc<WinRmTarget>, place: Place) -> Self {
        Self {
            target,
            place,
            open: None,
        }
    }

    /// Sends an envelope and waits for the answer. A connection that the host
    /// closed while nobody spoke is made anew; one that ends in the middle of a
    /// request is lost, because nobody knows how far that got.
    pub(crate) async fn ask(
        &mut self,
        envelope: &str,
        patience: Duration,
    ) -> Result<Reply, RemoteError> {
        let mut tried = false;
        loop {
            let mut open = self.take_open().await?;
            let asked = timeout(patience, open.post(&self.target, &self.place, envelope)).await;
            let reply = asked.map_err(|_| RemoteError::NoAnswer {
                place: self.place.clone(),
                waited: patience,
                step: "an answer",
            })??;
            match reply {
                // The host has forgotten who this is: that was no request to it.
                None if !tried => tried = true,
                None => return Err(login::refused(&self.target, &self.place, "")),
                Some(reply) => {
                    self.open = Some(open);
                    return Ok(reply);
                }
            }
        }
    }

    /// The connection, which is this one's only while a request is under way: a
    /// request that is dropped half-way takes it along.
    async fn take_open(&mut self) -> Result<Open, RemoteError> {
        if let Some(mut open) = self.open.take()
            && open.sender.ready().await.is_ok()
        {
            return Ok(open);
        }
        let waited = self.target.connect_timeout;
        let connected = timeout(waited, connect(&self.target, &self.place)).await;
        let mut open = connected.map_err(|_| RemoteError::NoAnswer {
            place: self.place.clone(),
            waited,
            step: "a connection",
        })??;
        login::log_in(&mut open, &self.target, &self.place).await?;
        Ok(open)
    }
}

async fn connect(target: &WinRmTarget, place: &Place) -> Result<Open, RemoteError> {
    if target.protection == Protection::Sealed && matches!(target.login, Login::Basic(_)) {
        return Err(WinRmError::Unencrypted {
            place: place.clone(),
            seen: "`auth: basic` over `transport: http` is the password in clear".to_owned(),
        }
        .into());
    }
    let stream = dial(place).await?;
    match &target.protection {
        Protection::Sealed => Open::over(stream, None, place).await,
        Protection::Tls(trust) => {
            let stream = tls::shake_hands(stream, trust, place).await?;
            let binding = tls::end_point(&stream);
            Open::over(stream, binding, place).await
        }
    }
}

impl Open {
    async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        binding: Option<Vec<u8>>,
        place: &Place,
    ) -> Result<Self, RemoteError> {
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| lost(place, error))?;
        let driver = tokio::spawn(async move {
            // Its end shows in the sender, with the request that it is the end of.
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

    /// One request as it is; tokens of a login go this way.
    pub(super) async fn send(
        &mut self,
        target: &WinRmTarget,
        place: &Place,
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
            .map_err(|error| lost(place, error))?;
        let ready = self.sender.ready().await;
        ready.map_err(|error| lost(place, error))?;
        let answered = self.sender.send_request(request).await;
        answered.map_err(|error| lost(place, error))
    }

    /// An empty request that carries a token.
    pub(super) async fn knock(
        &mut self,
        target: &WinRmTarget,
        place: &Place,
        authorization: &HeaderValue,
    ) -> Result<Knocked, RemoteError> {
        let empty = (SOAP, Vec::new());
        let response = self.send(target, place, Some(authorization), empty).await?;
        let status = response.status();
        let offers = response.headers().get_all(WWW_AUTHENTICATE);
        let offers = offers.iter().filter_map(|offer| offer.to_str().ok());
        let offers = offers.map(str::to_owned).collect();
        // The connection is free for the next request when the body is read.
        read(response, place).await?;
        Ok(Knocked { status, offers })
    }

    /// Nothing when the host asks for a login.
    async fn post(
        &mut self,
        target: &WinRmTarget,
        place: &Place,
        envelope: &str,
    ) -> Result<Option<Reply>, RemoteError> {
        let (kind, body) = match &mut self.sealing {
            Some(sealing) => {
                let packed = sealed::pack(&mut **sealing, envelope.as_bytes());
                let packed = packed.map_err(|error| lost(place, error))?;
                (sealed::CONTENT_TYPE, packed)
            }
            None => (SOAP, envelope.as_bytes().to_vec()),
        };
        let authorization = self.authorization.clone();
        let response = self
            .send(target, place, authorization.as_ref(), (kind, body))
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
        let body = read(response, place).await?;
        let text = match &mut self.sealing {
            Some(sealing) if is_sealed => {
                let opened = sealed::unpack(&mut **sealing, &body);
                opened.map_err(|error| WinRmError::Forged {
                    place: place.clone(),
                    reason: error.to_string(),
                })?
            }
            Some(_) if !body.is_empty() => {
                return Err(WinRmError::Unencrypted {
                    place: place.clone(),
                    seen: format!("an answer that is not sealed (HTTP {})", status.as_u16()),
                }
                .into());
            }
            _ => body.to_vec(),
        };
        Ok(Some(Reply {
            status,
            text: String::from_utf8_lossy(&text).into_owned(),
        }))
    }
}

/// The answer to a token.
pub(super) struct Knocked {
    pub(super) status: StatusCode,
    /// The ways to log in that the host names.
    pub(super) offers: Vec<String>,
}

async fn read(response: Response<Incoming>, place: &Place) -> Result<Bytes, RemoteError> {
    let limited = Limited::new(response.into_body(), LARGEST_ANSWER);
    let body = limited.collect().await;
    let body = body.map_err(|source| RemoteError::Lost {
        place: place.clone(),
        step: "reading an answer",
        source: Some(source),
    })?;
    Ok(body.to_bytes())
}

fn lost(place: &Place, error: impl std::error::Error + Send + Sync + 'static) -> RemoteError {
    RemoteError::Lost {
        place: place.clone(),
        step: "asking WinRM",
        source: Some(Box::new(error)),
    }
}
