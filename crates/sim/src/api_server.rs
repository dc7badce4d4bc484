//! A small Kubernetes API server inside this process, for `casement demo` and for
//! tests that need no real control plane.
//!
//! It serves the kinds that casement uses over HTTPS, with its own CA, bootstrap tokens,
//! RBAC, watches and server-side apply, so that kube and kubectl work with it unchanged.
//! It keeps everything in memory and runs no workloads. Unsupported requests get a proper
//! `Status`; `docs/lab.md` lists the gaps. `crates/cluster/tests/api` compares its responses
//! with those of a real API server.
//!
//! ```no_run
//! # fn main() -> Result<(), casement_sim::api_server::ApiError> {
//! let api = casement_sim::api_server::start(casement_sim::api_server::Seed::default())?;
//! println!("{}", api.kubeconfig());
//! # Ok(())
//! # }
//! ```
//!
//! JSON values are read by index throughout: an absent field reads as null.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

mod apply;
mod csr;
mod decode;
mod defaults;
mod delete;
mod discovery;
mod fields;
mod handler;
mod hooks;
mod kinds;
mod managers;
mod merge_type;
mod mutate;
mod patch;
mod pki;
mod rbac;
mod read;
mod request_log;
mod reviews;
mod route;
mod seed;
mod selector;
mod serve;
mod state;
mod status_error;
mod store;
mod strategic;
mod table;
mod time;
mod validation;
mod view;
mod watch;
mod write;

pub use seed::{Flannel, Seed, SeedNode};
pub(crate) use time::{now, now_with_micros, seconds_since};

use pki::Pki;
use rbac::User;
use state::Server;

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Invalid subject name, or key generation failed.
    #[error("failed to create the API server's certificates")]
    Certificates(#[from] rcgen::Error),
    #[error("failed to load the API server's certificates")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error("failed to parse the API server's certificates")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
    #[error("failed to set up client certificate verification: {0}")]
    Verifier(String),
    /// The address is in use or not local, or the thread cannot be started.
    #[error("failed to listen on `{address}`")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The server's own validation rejects an object of the seed.
    #[error("the API server rejected the seed object `{object}`: {reason}")]
    Seed { object: String, reason: String },
}

/// Runs until dropped.
pub struct ApiServer {
    address: SocketAddr,
    kubeconfig: String,
    server: Arc<Server>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server with the seed's objects, on its own thread.
pub fn start(seed: Seed) -> Result<ApiServer, ApiError> {
    let listen = |source| ApiError::Listen {
        address: seed.listen,
        source,
    };
    let socket = std::net::TcpListener::bind(seed.listen).map_err(listen)?;
    socket.set_nonblocking(true).map_err(listen)?;
    let address = socket.local_addr().map_err(listen)?;
    let server = Arc::new(seed::server(&seed, address, Pki::new()?)?);
    let acceptor = TlsAcceptor::from(Arc::new(server.pki.server(seed.names(address))?));
    let admin = User::new("kubernetes-admin", &["system:masters"]);
    let kubeconfig = server
        .pki
        .kubeconfig(&format!("https://{address}"), &admin)?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(listen)?;
    let (stop, stopped) = oneshot::channel();
    let shared = Arc::clone(&server);
    let thread = std::thread::Builder::new().name("lab-api".to_owned());
    let thread = thread.spawn(move || {
        runtime.block_on(async move {
            let Ok(listener) = TcpListener::from_std(socket) else {
                return;
            };
            // Ends when stopped or dropped.
            tokio::select! {
                _ = stopped => {}
                () = serve::serve(listener, acceptor, shared) => {}
            }
        });
    });
    Ok(ApiServer {
        address,
        kubeconfig,
        server,
        stop: Some(stop),
        thread: Some(thread.map_err(listen)?),
    })
}

impl ApiServer {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn ca_pem(&self) -> String {
        self.server.pki.ca_pem()
    }

    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Records the requests of this user from now on.
    pub fn record_requests(&self, user: &str) {
        self.server.requests.start(user);
    }

    /// The recorded requests in order, as verb, kind and object:
    /// `get configmaps kube-system/kubeadm-config`.
    pub fn requests(&self) -> Vec<String> {
        self.server.requests.requests()
    }

    /// A kubeconfig of another user, with a client certificate for a name and at most one
    /// group.
    pub fn kubeconfig_for(&self, name: &str, group: Option<&str>) -> Result<String, ApiError> {
        let groups: Vec<&str> = group.into_iter().collect();
        let user = User::new(name, &groups);
        self.server
            .pki
            .kubeconfig(&format!("https://{}", self.address), &user)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails only if the thread has already ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
