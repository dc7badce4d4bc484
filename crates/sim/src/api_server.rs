//! A small Kubernetes API server inside this process, for `casement demo` and for
//! tests that need no real control plane.
//!
//! It serves the kinds that casement touches over HTTPS, with certificates of its
//! own CA, bootstrap tokens, RBAC, watches and server-side apply, so that kube and
//! kubectl work with it unchanged. It keeps everything in memory, runs no workload
//! and is no second Kubernetes: what it does not do is refused with a proper
//! `Status`, `docs/lab.md` lists the gaps, and what it answers is compared with a
//! real server's answers in `crates/cluster/tests/api`.
//!
//! ```no_run
//! # fn main() -> Result<(), casement_sim::api_server::ApiError> {
//! let api = casement_sim::api_server::start(casement_sim::api_server::Seed::default())?;
//! println!("{}", api.kubeconfig());
//! # Ok(())
//! # }
//! ```
//!
//! JSON values are read by index throughout: what is absent reads as null.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

#[path = "api_server/handler.rs"]
mod answer;
mod apply;
mod decode;
mod defaults;
mod delete;
mod discovery;
mod fields;
mod kinds;
mod managers;
mod patch;
mod pki;
#[path = "api_server/hooks.rs"]
mod reactions;
#[path = "api_server/read.rs"]
mod reading;
#[path = "api_server/status_error.rs"]
mod refusal;
#[path = "api_server/csr.rs"]
mod requests;
mod reviews;
#[path = "api_server/rbac.rs"]
mod rights;
mod route;
mod seed;
mod selector;
mod serve;
#[path = "api_server/merge_type.rs"]
mod shape;
mod state;
mod store;
mod strategic;
mod table;
mod time;
#[path = "api_server/validation.rs"]
mod valid;
mod view;
mod watch;
mod write;
#[path = "api_server/mutate.rs"]
mod writing;

pub use seed::{Flannel, Seed, SeedNode};
pub(crate) use time::{now, now_exactly, since};

use pki::Pki;
use rights::User;
use state::Server;

/// Why there is no API server.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// A name that no certificate can have, or a key that cannot be made.
    #[error("could not make the API server's certificates")]
    Certificates(#[from] rcgen::Error),
    /// Certificates that the server cannot use.
    #[error("could not use the API server's certificates")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// Text that is no PEM.
    #[error("could not read the API server's certificates")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
    /// A CA that clients cannot be checked against.
    #[error("could not check clients against the CA: {0}")]
    Verifier(String),
    /// An address that is taken or not this machine's, or no thread to be had.
    #[error("could not listen on `{address}`")]
    Listen {
        /// Where it was to answer.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// An object of the seed that the server itself refuses.
    #[error("the seed's `{object}` is refused: {why}")]
    Seed {
        /// Its kind and name.
        object: String,
        /// What the server says.
        why: String,
    },
}

/// A server that runs until this is dropped.
pub struct Running {
    address: SocketAddr,
    kubeconfig: String,
    server: Arc<Server>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server with a cluster as the seed describes it, on a thread of its own.
pub fn start(seed: Seed) -> Result<Running, ApiError> {
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
            // Either way it ends: told to, or dropped.
            tokio::select! {
                _ = stopped => {}
                () = serve::serve(listener, acceptor, shared) => {}
            }
        });
    });
    Ok(Running {
        address,
        kubeconfig,
        server,
        stop: Some(stop),
        thread: Some(thread.map_err(listen)?),
    })
}

impl Running {
    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The cluster's CA, as PEM.
    pub fn ca_pem(&self) -> String {
        self.server.pki.ca_pem()
    }

    /// A kubeconfig of the cluster's administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// A kubeconfig of somebody else, known by a client certificate: a name and at
    /// most one group.
    pub fn kubeconfig_for(&self, name: &str, group: Option<&str>) -> Result<String, ApiError> {
        let groups: Vec<&str> = group.into_iter().collect();
        let user = User::new(name, &groups);
        self.server
            .pki
            .kubeconfig(&format!("https://{}", self.address), &user)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Gone already, if its thread is.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
