//! An HTTP client with explicit credentials.

use std::sync::Arc;

use casement_sim::api_server::ApiServer;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub enum Credentials<'a> {
    Anonymous,
    Token(&'a str),
    /// A certificate and its key, as PEM.
    Certificate(&'a str, &'a str),
}

/// Sends one request over a new connection.
pub async fn send(
    api: &ApiServer,
    credentials: &Credentials<'_>,
    request_line: &str,
    body: Option<Value>,
) -> Response<Incoming> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(api.ca_pem().as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match credentials {
        Credentials::Certificate(certificate, key) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            config
                .with_client_auth_cert(vec![certificate], key)
                .unwrap()
        }
        _ => config.with_no_client_auth(),
    };
    let stream = TcpStream::connect(api.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let (method, path) = request_line.split_once(' ').unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("user-agent", "test/1")
        .header("content-type", content_type(method));
    if let Credentials::Token(token) = credentials {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    sender.send_request(request).await.unwrap()
}

fn content_type(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    }
}

/// Sends one request and reads the whole response.
pub async fn request(
    api: &ApiServer,
    credentials: &Credentials<'_>,
    request_line: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let response = send(api, credentials, request_line, body).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Client certificate and key of a kubeconfig.
pub fn credentials(kubeconfig: &str) -> (String, String) {
    use base64::Engine as _;
    let part = |key: &str| {
        let line = kubeconfig
            .lines()
            .find_map(|line| line.trim().strip_prefix(key));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(line.unwrap().trim())
            .unwrap();
        String::from_utf8(bytes).unwrap()
    };
    (part("client-certificate-data:"), part("client-key-data:"))
}

/// Runs a test on its own runtime.
pub fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}
