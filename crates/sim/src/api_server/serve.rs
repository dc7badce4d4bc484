//! Connections: TLS, who is at the other end, HTTP.

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

use super::answer::{Answer, Call, answer};
use super::refusal::Refusal;
use super::rights::User;
use super::route::{self, Query};
use super::state::Server;

/// How long a client may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// No object is larger.
const LARGEST: usize = 3 * 1024 * 1024;

/// Serves until the task is dropped.
pub(super) async fn serve(listener: TcpListener, acceptor: TlsAcceptor, server: Arc<Server>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let (acceptor, server) = (acceptor.clone(), Arc::clone(&server));
                // A client that breaks off, or does not trust us, is its own affair.
                tokio::spawn(async move { talk(client, &acceptor, &server).await });
            }
            // Out of file descriptors, or a client that was gone at once.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// What the client's certificate says.
#[derive(Clone)]
enum Shown {
    Nothing,
    Good(User),
    Bad,
}

async fn talk(client: TcpStream, acceptor: &TlsAcceptor, server: &Arc<Server>) -> io::Result<()> {
    // Watches are short lines, each of which somebody waits for.
    client.set_nodelay(true)?;
    let stream = timeout(HANDSHAKE, acceptor.accept(client)).await??;
    let (_, session) = stream.get_ref();
    let shown = match session.peer_certificates() {
        None => Shown::Nothing,
        Some(chain) => server.pki.user(chain).map_or(Shown::Bad, Shown::Good),
    };
    let service = service_fn(|request: Request<Incoming>| {
        let shown = shown.clone();
        async move {
            let answered = answered(server, shown, request).await;
            Ok::<_, Infallible>(response(answered))
        }
    });
    hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}

async fn answered(server: &Arc<Server>, shown: Shown, request: Request<Incoming>) -> Answer {
    let Some(user) = user(server, shown, request.headers()) else {
        return Refusal::unauthorized().into();
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
    let target = route::target(request.uri().path());
    let query = Query::read(request.uri().query().unwrap_or_default());
    let body = match Limited::new(request.into_body(), LARGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return Refusal::bad_request(error.to_string()).into(),
    };
    let call = Call {
        method,
        target,
        query,
        user,
        agent,
        accept,
        content_type,
        body,
    };
    answer(server, &call)
}

/// None: whoever it is cannot show it.
fn user(server: &Server, shown: Shown, headers: &HeaderMap) -> Option<User> {
    let mut user = match (shown, headers.get(AUTHORIZATION)) {
        (Shown::Good(user), _) => user,
        (Shown::Nothing | Shown::Bad, Some(value)) => {
            let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
            server.state().bearer(token.trim())?
        }
        (Shown::Bad, None) => return None,
        (Shown::Nothing, None) => {
            return Some(User::new("system:anonymous", &["system:unauthenticated"]));
        }
    };
    let known = "system:authenticated";
    if !user.groups.iter().any(|group| group == known) {
        user.groups.push(known.to_owned());
    }
    Some(user)
}

/// A body that is there at once, or comes line by line.
enum Content {
    Whole(Option<Bytes>),
    Lines(mpsc::Receiver<Bytes>),
}

impl Body for Content {
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

fn response(answer: Answer) -> Response<Content> {
    let json = HeaderValue::from_static("application/json");
    let (code, kind, content, warnings) = match answer {
        Answer::Json(code, value, warnings) => {
            let content = Content::Whole(Some(value.to_string().into()));
            (code, json, content, warnings)
        }
        Answer::Text(code, text) => {
            let kind = HeaderValue::from_static("text/plain; charset=utf-8");
            let content = Content::Whole(Some(Bytes::from_static(text.as_bytes())));
            (code, kind, content, Vec::new())
        }
        Answer::Watch(lines) => (StatusCode::OK, json, Content::Lines(lines), Vec::new()),
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
