//! A small read-only image registry over TLS, for the lab's own images.
//!
//! It speaks the reading half of the OCI distribution specification: enough
//! for containerd to resolve a tag and pull by digest, with certificates from
//! a CA of the lab's own. Nothing can be written, and no check is switched off. It may
//! want an account.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

#[path = "registry/response.rs"]
mod answer;
mod certificates;

pub use certificates::{Certificates, make_certificates};

use crate::containers::images::Images;

/// How long a client may take for its handshake, and for all it wants.
const HANDSHAKE: Duration = Duration::from_secs(10);
const CONNECTION: Duration = Duration::from_secs(600);

/// Why there is no registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A name that no certificate can have, or a key that cannot be made.
    #[error("could not make the registry's certificates")]
    Certificates(#[from] rcgen::Error),
    /// Certificates that the server cannot use.
    #[error("could not use the registry's certificates")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// Text that is no PEM.
    #[error("could not read the registry's certificates")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
}

/// What a registry has, and for whom.
pub struct Stock {
    /// What can be pulled.
    pub images: Images,
    /// `user:password` of the only one who may, asked for at each request; none lets
    /// everybody in.
    pub account: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Serves until the task is dropped.
pub async fn serve(
    listener: TcpListener,
    certificates: &Certificates,
    stock: Stock,
) -> Result<(), RegistryError> {
    let acceptor = TlsAcceptor::from(Arc::new(certificates.server()?));
    let stock = Arc::new(stock);
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let (acceptor, stock) = (acceptor.clone(), Arc::clone(&stock));
                tokio::spawn(async move {
                    // A client that breaks off, or does not trust us, is its own affair.
                    let _ = timeout(CONNECTION, talk(client, &acceptor, &stock)).await;
                });
            }
            // Out of file descriptors, or a client that was gone at once.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn talk(client: TcpStream, acceptor: &TlsAcceptor, stock: &Stock) -> io::Result<()> {
    let stream = timeout(HANDSHAKE, acceptor.accept(client)).await??;
    let service = service_fn(|request: Request<Incoming>| async move {
        let account = (stock.account)();
        Ok::<Response<Full<Bytes>>, Infallible>(match account {
            Some(account) if !answer::is_from(&request, &account) => answer::unknown(),
            _ => answer::answer(request.method(), request.uri().path(), &stock.images),
        })
    });
    hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
