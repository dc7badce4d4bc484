//! The server: HTTP connections, each with its guard, in front of shells.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use casement_remote::winrm::{Login, Protection, Trust, WinRmTarget};
use casement_resource::{Secret, Sha256};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::guard::{Guard, Verdict};
use crate::host::Host;
use crate::sealed;
use crate::shell::Shell;
use crate::soap;

pub const PASSWORD: &str = "pässword-Of-The-Test";

/// What a test may change about the host.
#[derive(Debug, Clone)]
pub struct Settings {
    pub user: String,
    pub password: String,
    pub negotiate: bool,
    pub basic: bool,
    /// Whether there is NTLM inside Negotiate.
    pub ntlm: bool,
    /// Where the keys for tickets are, if it takes any.
    pub keytab: Option<PathBuf>,
    /// Whether NTLM seals.
    pub seals: bool,
    /// Whether sealed requests get sealed answers.
    pub seals_answers: bool,
    /// By how many seconds its clock is ahead.
    pub clock_ahead: i64,
    /// The largest envelope that it takes, and the one that it says it takes.
    pub envelope: usize,
    pub told_envelope: Option<usize>,
    /// Waits for output at most so long, whatever was asked for.
    pub receive: Duration,
    /// Whether the account may open shells.
    pub allowed: bool,
    /// Answers nothing any more.
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
            seals_answers: true,
            clock_ahead: 0,
            envelope: 500 * 1024,
            told_envelope: Some(500 * 1024),
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
    pub made: AtomicU64,
    /// Every body as it came over the line, and every action as it was understood.
    pub bodies: Mutex<Vec<Vec<u8>>>,
    pub actions: Mutex<Vec<String>>,
    /// Who was let in, and how.
    pub logins: Mutex<Vec<String>>,
    wires: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    pub fn settings(&self) -> Settings {
        self.settings.lock().unwrap().clone()
    }
}

/// A host with WinRM.
pub struct Server {
    pub port: u16,
    pub shared: Arc<Shared>,
    pub folder: tempfile::TempDir,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

impl Server {
    /// In front of a host; with TLS, it has signed its certificate itself, without it
    /// messages are sealed.
    pub async fn start(host: Arc<Host>, address: Ipv4Addr, tls: bool) -> Self {
        let certified = tls.then(|| {
            let names = vec![address.to_string(), "localhost".to_owned()];
            rcgen::generate_simple_self_signed(names).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = certified.as_ref().map(|made| {
            let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
            let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![made.cert.der().clone()], key)
                .unwrap();
            TlsAcceptor::from(Arc::new(config))
        });
        if let Some(made) = &certified {
            std::fs::write(folder.path().join("ca.pem"), made.cert.pem()).unwrap();
        }
        let shared = Arc::new(Shared {
            settings: Mutex::default(),
            certificate: certified.map(|made| made.cert.der().to_vec()),
            host,
            shells: Mutex::default(),
            made: AtomicU64::new(0),
            bodies: Mutex::default(),
            actions: Mutex::default(),
            logins: Mutex::default(),
            wires: Mutex::default(),
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

    /// Drops every connection on the floor.
    pub fn cut(&self) {
        for wire in self.shared.wires.lock().unwrap().drain(..) {
            wire.abort();
        }
    }

    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The right way in.
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

    /// The actions that were asked for, by their last word.
    pub fn actions(&self) -> Vec<String> {
        self.shared.actions.lock().unwrap().clone()
    }

    /// Who was let in since this was last asked, and how.
    pub fn logins(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.logins.lock().unwrap())
    }

    /// Waits until the host has no shell left.
    pub async fn no_shell_is_left(&self) {
        let gone = async {
            while !self.shared.shells.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let limit = Duration::from_secs(30);
        let waited = tokio::time::timeout(limit, gone).await;
        waited.expect("a shell is left");
    }
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let served = Arc::clone(&shared);
        let wire = tokio::spawn(async move {
            match acceptor {
                None => serve(stream, served).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, served).await;
                    }
                }
            }
        });
        shared.host.machine.carry(wire.abort_handle());
        shared.wires.lock().unwrap().push(wire);
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, shared: Arc<Shared>) {
    let guard = Arc::new(tokio::sync::Mutex::new(Guard::new(Arc::clone(&shared))));
    let service = service_fn(move |request| {
        let (guard, shared) = (Arc::clone(&guard), Arc::clone(&shared));
        async move { Ok::<_, Infallible>(answer(request, guard, shared).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    let _ = connection
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    guard: Arc<tokio::sync::Mutex<Guard>>,
    shared: Arc<Shared>,
) -> Response<Full<Bytes>> {
    if shared.settings().hangs {
        std::future::pending::<()>().await;
    }
    let mut guard = guard.lock().await;
    let authorization = request.headers().get(AUTHORIZATION).cloned();
    let is_sealed = header(&request, CONTENT_TYPE).starts_with("multipart/encrypted");
    let Ok(body) = request.into_body().collect().await else {
        // Whoever was cut off in the middle does not read this.
        return status(StatusCode::BAD_REQUEST);
    };
    let body = body.to_bytes();
    let authorization = authorization.and_then(|value| value.to_str().map(str::to_owned).ok());
    let (mut response, said) = match guard.judge(authorization.as_deref()) {
        Verdict::Out(offers) => (status(StatusCode::UNAUTHORIZED), offers),
        Verdict::In(said) if body.is_empty() => (status(StatusCode::OK), said),
        Verdict::In(said) => (serve_one(&shared, &mut guard, &body, is_sealed).await, said),
    };
    for line in said {
        let line = line.parse().unwrap();
        response.headers_mut().append(WWW_AUTHENTICATE, line);
    }
    response
}

/// Answers somebody who is let in.
async fn serve_one(
    shared: &Arc<Shared>,
    guard: &mut Guard,
    body: &[u8],
    is_sealed: bool,
) -> Response<Full<Bytes>> {
    shared.bodies.lock().unwrap().push(body.to_vec());
    let envelope = match (&mut guard.sealing, is_sealed) {
        (Some(sealing), true) => sealed::unpack(&mut **sealing, body).unwrap(),
        // AllowUnencrypted is false.
        (Some(_), false) => return status(StatusCode::INTERNAL_SERVER_ERROR),
        (None, _) => body.to_vec(),
    };
    let envelope = String::from_utf8(envelope).unwrap();
    let (status, text) = soap::answer(shared, &envelope).await;
    let seals = shared.settings().seals_answers;
    let (kind, body) = match guard.sealing.as_mut().filter(|_| seals) {
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

/// A name that no other has.
pub fn next_name(shared: &Shared) -> String {
    let number = shared.made.fetch_add(1, Ordering::SeqCst) + 1;
    format!("{number:08X}-0000-4000-8000-000000000000")
}
