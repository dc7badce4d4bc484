//! Connections: TLS, authentication, HTTP.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::handler::{ApiRequest, ApiResponse, handle};
use super::rbac::User;
use super::route::{self, Query};
use super::state::Server;
use super::status_error::StatusError;

/// Limit for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

pub(super) async fn serve(listener: TcpListener, acceptor: TlsAcceptor, server: Arc<Server>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let (acceptor, server) = (acceptor.clone(), Arc::clone(&server));
                // Errors of one connection do not matter to the server.
                tokio::spawn(async move { serve_connection(client, &acceptor, &server).await });
            }
            // Out of file descriptors, or the client has already disconnected.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

#[derive(Clone)]
enum ClientCertificate {
    Missing,
    Valid(User),
    Invalid,
}

async fn serve_connection(
    client: TcpStream,
    acceptor: &TlsAcceptor,
    server: &Arc<Server>,
) -> io::Result<()> {
    // Watch events are short lines that clients wait for.
    client.set_nodelay(true)?;
    let stream = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(client)).await??;
    let (_, session) = stream.get_ref();
    let certificate = match session.peer_certificates() {
        None => ClientCertificate::Missing,
        Some(chain) => server
            .pki
            .user(chain)
            .map_or(ClientCertificate::Invalid, ClientCertificate::Valid),
    };
    let service = service_fn(|request: Request<Incoming>| {
        let certificate = certificate.clone();
        async move {
            let api_response = respond(server, certificate, request).await;
            Ok::<_, Infallible>(response(api_response))
        }
    });
    hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}

async fn respond(
    server: &Arc<Server>,
    certificate: ClientCertificate,
    request: Request<Incoming>,
) -> ApiResponse {
    let Some(user) = authenticate(server, certificate, request.headers()) else {
        return StatusError::unauthorized().into();
    };
    let header = |name: HeaderName| {
        let value = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let agent = header(USER_AGENT);
    let agent = agent.split('/').next().unwrap_or_default().to_owned();
    let (accept, content_type) = (header(ACCEPT), header(CONTENT_TYPE));
    let method = request.method().clone();
    let target = route::parse_path(request.uri().path());
    let query = Query::read(request.uri().query().unwrap_or_default());
    let body = match Limited::new(request.into_body(), MAX_BODY_BYTES)
        .collect()
        .await
    {
        Ok(body) => body.to_bytes(),
        Err(error) => return StatusError::bad_request(error.to_string()).into(),
    };
    let request = ApiRequest {
        method,
        target,
        query,
        user,
        agent,
        accept,
        content_type,
        body,
    };
    handle(server, &request)
}

/// `None` if authentication fails.
fn authenticate(
    server: &Server,
    certificate: ClientCertificate,
    headers: &HeaderMap,
) -> Option<User> {
    let mut user = match (certificate, headers.get(AUTHORIZATION)) {
        (ClientCertificate::Valid(user), _) => user,
        (ClientCertificate::Missing | ClientCertificate::Invalid, Some(value)) => {
            let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
            server.state().user_for_token(token.trim())?
        }
        (ClientCertificate::Invalid, None) => return None,
        (ClientCertificate::Missing, None) => {
            return Some(User::new("system:anonymous", &["system:unauthenticated"]));
        }
    };
    let authenticated = "system:authenticated";
    if !user.groups.iter().any(|group| group == authenticated) {
        user.groups.push(authenticated.to_owned());
    }
    Some(user)
}

/// A complete body, or lines of a watch.
enum ResponseBody {
    Whole(Option<Bytes>),
    Lines(mpsc::Receiver<Bytes>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Lines(lines) => lines.poll_recv(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

fn response(api_response: ApiResponse) -> Response<ResponseBody> {
    let json = HeaderValue::from_static("application/json");
    let (code, kind, content, warnings) = match api_response {
        ApiResponse::Json(code, value, warnings) => {
            let content = ResponseBody::Whole(Some(value.to_string().into()));
            (code, json, content, warnings)
        }
        ApiResponse::Text(code, text) => {
            let kind = HeaderValue::from_static("text/plain; charset=utf-8");
            let content = ResponseBody::Whole(Some(Bytes::from_static(text.as_bytes())));
            (code, kind, content, Vec::new())
        }
        ApiResponse::Watch(lines) => (StatusCode::OK, json, ResponseBody::Lines(lines), Vec::new()),
    };
    let mut response = Response::new(content);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    for warning in warnings {
        let text = format!("299 - \"{}\"", warning.replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.append("warning", value);
        }
    }
    response
}
