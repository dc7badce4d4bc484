//! The WinRM server: authenticated HTTP connections to shells.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use casement_remote::winrm::{Login, Protection, Trust, WinRmTarget};
use casement_remote::{Connection, HostEndpoint};
use casement_resource::{Secret, Sha256};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::authentication::{Authenticator, Verdict};
use crate::host::Host;
use crate::sealed;
use crate::shell::Shell;
use crate::soap;

pub const PASSWORD: &str = "pässword-Of-The-Test";

#[derive(Debug, Clone)]
pub struct Settings {
    pub user: String,
    pub password: String,
    pub negotiate: bool,
    pub basic: bool,
    /// Whether Negotiate includes NTLM.
    pub ntlm: bool,
    /// Accepts Kerberos tickets if set.
    pub keytab: Option<PathBuf>,
    /// Whether NTLM messages are sealed.
    pub seals: bool,
    /// Whether responses to sealed requests are sealed.
    pub seals_responses: bool,
    /// In seconds.
    pub clock_ahead: i64,
    /// The largest accepted envelope in bytes, and the advertised limit.
    pub envelope: usize,
    pub advertised_envelope: Option<usize>,
    /// Timeout of Receive, whatever the client requests.
    pub receive: Duration,
    /// Whether the account may open shells.
    pub allowed: bool,
    /// Sends no more responses.
    pub hangs: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user: "Administrator".to_owned(),
            password: PASSWORD.to_owned(),
            negotiate: true,
            basic: false,
            ntlm: true,
            keytab: None,
            seals: true,
            seals_responses: true,
            clock_ahead: 0,
            envelope: 500 * 1024,
            advertised_envelope: Some(500 * 1024),
            receive: Duration::from_millis(300),
            allowed: true,
            hangs: false,
        }
    }
}

pub struct Shared {
    settings: Mutex<Settings>,
    pub certificate: Option<Vec<u8>>,
    pub host: Arc<Host>,
    pub shells: Mutex<HashMap<String, Arc<Shell>>>,
    pub names: AtomicU64,
    /// Every body as received, and every parsed action.
    pub bodies: Mutex<Vec<Vec<u8>>>,
    pub actions: Mutex<Vec<String>>,
    /// Method and user of each login.
    pub logins: Mutex<Vec<String>>,
    connections: Mutex<Vec<JoinHandle<()>>>,
    /// Closes connections after the response in flight.
    closing: Notify,
}

impl Shared {
    pub fn settings(&self) -> Settings {
        self.settings.lock().unwrap().clone()
    }
}

pub struct Server {
    pub port: u16,
    pub shared: Arc<Shared>,
    pub folder: tempfile::TempDir,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        self.drop_connections();
    }
}

impl Server {
    /// With TLS, the certificate is self-signed; without, messages are sealed.
    pub async fn start(host: Arc<Host>, address: Ipv4Addr, tls: bool) -> Self {
        let certified = tls.then(|| {
            let names = vec![address.to_string(), "localhost".to_owned()];
            rcgen::generate_simple_self_signed(names).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = certified.as_ref().map(|certified| {
            let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
            let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certified.cert.der().clone()], key)
                .unwrap();
            TlsAcceptor::from(Arc::new(config))
        });
        if let Some(certified) = &certified {
            std::fs::write(folder.path().join("ca.pem"), certified.cert.pem()).unwrap();
        }
        let shared = Arc::new(Shared {
            settings: Mutex::default(),
            certificate: certified.map(|certified| certified.cert.der().to_vec()),
            host,
            shells: Mutex::default(),
            names: AtomicU64::new(0),
            bodies: Mutex::default(),
            actions: Mutex::default(),
            logins: Mutex::default(),
            connections: Mutex::default(),
            closing: Notify::new(),
        });
        let task = tokio::spawn(accept(listener, acceptor, Arc::clone(&shared)));
        Self {
            port,
            shared,
            folder,
            task,
        }
    }

    pub fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.shared.settings.lock().unwrap());
    }

    /// Aborts all connections.
    pub fn drop_connections(&self) {
        for connection in self.shared.connections.lock().unwrap().drain(..) {
            connection.abort();
        }
    }

    /// Closes all connections when they are idle, and waits until the client has noticed.
    pub async fn close_idle_connections(&self) {
        self.shared.closing.notify_waiters();
        let connections = std::mem::take(&mut *self.shared.connections.lock().unwrap());
        for connection in connections {
            connection.await.unwrap();
        }
        wait_until("the client has closed its sockets", || {
            !is_connected_to(self.port)
        })
        .await;
    }

    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A target with valid credentials.
    pub fn target(&self) -> WinRmTarget {
        let login = Login::Ntlm(Secret::new(PASSWORD.to_owned()));
        let mut target = WinRmTarget::new("win1", "127.0.0.1", "Administrator", login);
        target.port = self.port;
        target.protection = match &self.shared.certificate {
            Some(certificate) => Protection::Tls(Trust::Pinned(Sha256::of(certificate))),
            None => Protection::Sealed,
        };
        target
    }

    pub async fn connect(&self) -> Connection {
        HostEndpoint::from(self.target()).connect().await.unwrap()
    }

    /// The last segments of the requested actions.
    pub fn actions(&self) -> Vec<String> {
        self.shared.actions.lock().unwrap().clone()
    }

    /// Method and user of each login since the last call.
    pub fn logins(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.logins.lock().unwrap())
    }

    pub async fn wait_until_no_shells(&self) {
        let closed = || self.shared.shells.lock().unwrap().is_empty();
        wait_until("all shells are closed", closed).await;
    }
}

/// Times out after 30 s.
pub async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let reached = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = Duration::from_secs(30);
    if tokio::time::timeout(limit, reached).await.is_err() {
        panic!("timed out after 30 s: {what}");
    }
}

/// Whether this machine has an open client socket to the port, even one that its peer has
/// closed.
fn is_connected_to(port: u16) -> bool {
    // The states ESTABLISHED and CLOSE_WAIT, as in the kernel's include/net/tcp_states.h.
    const OPEN: [&str; 2] = ["01", "08"];
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[2].ends_with(&remote) && OPEN.contains(&fields[3])
    })
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let served = Arc::clone(&shared);
        let connection = tokio::spawn(async move {
            match acceptor {
                None => serve(stream, served).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, served).await;
                    }
                }
            }
        });
        shared
            .host
            .backend
            .track_connection(connection.abort_handle());
        shared.connections.lock().unwrap().push(connection);
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, shared: Arc<Shared>) {
    let authenticator = Arc::new(tokio::sync::Mutex::new(Authenticator::new(Arc::clone(
        &shared,
    ))));
    let served = Arc::clone(&shared);
    let service = service_fn(move |request| {
        let (authenticator, shared) = (Arc::clone(&authenticator), Arc::clone(&served));
        async move { Ok::<_, Infallible>(respond(request, authenticator, shared).await) }
    });
    let http = hyper::server::conn::http1::Builder::new();
    let closing = shared.closing.notified();
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closing => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn respond(
    request: Request<Incoming>,
    authenticator: Arc<tokio::sync::Mutex<Authenticator>>,
    shared: Arc<Shared>,
) -> Response<Full<Bytes>> {
    if shared.settings().hangs {
        std::future::pending::<()>().await;
    }
    let mut authenticator = authenticator.lock().await;
    let authorization = request.headers().get(AUTHORIZATION).cloned();
    let is_sealed = header(&request, CONTENT_TYPE).starts_with("multipart/encrypted");
    let Ok(body) = request.into_body().collect().await else {
        // The connection was dropped: nobody reads this.
        return status(StatusCode::BAD_REQUEST);
    };
    let body = body.to_bytes();
    let authorization = authorization.and_then(|value| value.to_str().map(str::to_owned).ok());
    let (mut response, headers) = match authenticator.authenticate(authorization.as_deref()) {
        Verdict::Reject(headers) => (status(StatusCode::UNAUTHORIZED), headers),
        Verdict::Accept(headers) if body.is_empty() => (status(StatusCode::OK), headers),
        Verdict::Accept(headers) => (
            serve_request(&shared, &mut authenticator, &body, is_sealed).await,
            headers,
        ),
    };
    for value in headers {
        let value = value.parse().unwrap();
        response.headers_mut().append(WWW_AUTHENTICATE, value);
    }
    response
}

/// Serves an authenticated request.
async fn serve_request(
    shared: &Arc<Shared>,
    authenticator: &mut Authenticator,
    body: &[u8],
    is_sealed: bool,
) -> Response<Full<Bytes>> {
    shared.bodies.lock().unwrap().push(body.to_vec());
    let envelope = match (&mut authenticator.sealing, is_sealed) {
        (Some(sealing), true) => sealed::unpack(&mut **sealing, body).unwrap(),
        // AllowUnencrypted is false.
        (Some(_), false) => return status(StatusCode::INTERNAL_SERVER_ERROR),
        (None, _) => body.to_vec(),
    };
    let envelope = String::from_utf8(envelope).unwrap();
    let (status, text) = soap::respond(shared, &envelope).await;
    let seals = shared.settings().seals_responses;
    let (kind, body) = match authenticator.sealing.as_mut().filter(|_| seals) {
        Some(sealing) => {
            let packed = sealed::pack(&mut **sealing, text.as_bytes());
            (sealed::CONTENT_TYPE, packed.unwrap())
        }
        None => ("application/soap+xml;charset=UTF-8", text.into_bytes()),
    };
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, kind)
        .body(Full::from(body))
        .unwrap()
}

fn header(request: &Request<Incoming>, name: hyper::header::HeaderName) -> String {
    let value = request.headers().get(name);
    let value = value.and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status);
    response.body(Full::default()).unwrap()
}

/// A unique name.
pub fn next_name(shared: &Shared) -> String {
    let number = shared.names.fetch_add(1, Ordering::SeqCst) + 1;
    format!("{number:08X}-0000-4000-8000-000000000000")
}
