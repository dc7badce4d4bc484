//! A small read-only image registry for the lab's images.
//!
//! Implements the pull part of the OCI distribution specification over TLS, with
//! certificates from the lab's own CA: enough for containerd to resolve a tag and
//! pull by digest. Credentials are optional.

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

mod certificates;
mod response;

pub use certificates::{Certificates, make_certificates};

use crate::containers::images::Images;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// An invalid name, or a failed key generation.
    #[error("failed to create the registry's certificates")]
    Certificates(#[from] rcgen::Error),
    /// rustls rejects the certificates.
    #[error("failed to use the registry's certificates")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// Invalid PEM.
    #[error("failed to read the registry's certificates")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
}

pub struct RegistryConfig {
    pub images: Images,
    /// Returns the required `user:password`, or `None` for anonymous access. Called for
    /// each request.
    pub credentials: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Serves until the task is dropped.
pub async fn serve(
    listener: TcpListener,
    certificates: &Certificates,
    config: RegistryConfig,
) -> Result<(), RegistryError> {
    let acceptor = TlsAcceptor::from(Arc::new(certificates.server()?));
    let config = Arc::new(config);
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let (acceptor, config) = (acceptor.clone(), Arc::clone(&config));
                tokio::spawn(async move {
                    // Errors of a single client, for example an untrusted CA, are ignored.
                    let connection = serve_client(client, &acceptor, &config);
                    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
                });
            }
            // Out of file descriptors, or an aborted connection.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve_client(
    client: TcpStream,
    acceptor: &TlsAcceptor,
    config: &RegistryConfig,
) -> io::Result<()> {
    let stream = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(client)).await??;
    let service = service_fn(|request: Request<Incoming>| async move {
        let credentials = (config.credentials)();
        Ok::<Response<Full<Bytes>>, Infallible>(match credentials {
            Some(credentials) if !response::is_authorized(&request, &credentials) => {
                response::unauthorized()
            }
            _ => response::respond(request.method(), request.uri().path(), &config.images),
        })
    });
    hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
