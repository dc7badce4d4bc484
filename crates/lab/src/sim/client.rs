//! How the programs of simulated hosts speak to an API server: HTTPS, as a node
//! does it, one connection for each request.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// Who asks.
pub(super) enum Who<'a> {
    /// The bearer of a bootstrap token.
    Token(&'a str),
    /// A certificate with its key, in one PEM text as the kubelet keeps it.
    Certificate(&'a str),
}

/// One who asks an API server.
pub(super) struct Client {
    server: String,
    tls: TlsConnector,
    token: Option<String>,
}

/// What the server answered: the code, and the object.
pub(super) type Answer = (u16, Value);

impl Client {
    /// Somebody who knows the server's CA; `server` is an address with a port.
    pub(super) fn new(server: &str, ca: &str, who: &Who<'_>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(ca.as_bytes()).map_err(|e| e.to_string())?;
        roots.add(ca).map_err(|e| e.to_string())?;
        let config = builder()?.with_root_certificates(roots);
        let (config, token) = match who {
            Who::Token(token) => (config.with_no_client_auth(), Some((*token).to_owned())),
            Who::Certificate(pem) => {
                let certificates = CertificateDer::pem_slice_iter(pem.as_bytes());
                let chain: Result<Vec<_>, _> = certificates.collect();
                let chain = chain.map_err(|error| error.to_string())?;
                let key = PrivateKeyDer::from_pem_slice(pem.as_bytes());
                let key = key.map_err(|error| error.to_string())?;
                let config = config.with_client_auth_cert(chain, key);
                (config.map_err(|error| error.to_string())?, None)
            }
        };
        Ok(Self {
            server: server.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
            token,
        })
    }

    /// Somebody who does not know the CA yet, as kubeadm before it has the pin
    /// compared.
    pub(super) fn trusting(server: &str) -> Result<Self, String> {
        let config = builder()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trusting))
            .with_no_client_auth();
        Ok(Self {
            server: server.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
            token: None,
        })
    }

    /// Asks, and reads the answer to its end.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let unreachable = |error: &dyn std::fmt::Display| {
            format!("the API server `{}` does not answer: {error}", self.server)
        };
        let stream = TcpStream::connect(&self.server).await;
        let stream = stream.map_err(|error| unreachable(&error))?;
        let host = self.server.rsplit_once(':').map_or("", |(host, _)| host);
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unreachable(&error))?;
        let stream = self.tls.connect(name, stream).await;
        let stream = stream.map_err(|error| unreachable(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(&error))?;
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("user-agent", "kubelet/simulated")
            .header("content-type", content_type(method));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| unreachable(&error))?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| unreachable(&error))?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.map_err(|error| unreachable(&error))?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// Asks for something that must be there.
    pub(super) async fn get(&self, path: &str) -> Result<Value, String> {
        refused(self.ask("GET", path, None).await?)
    }

    /// Sends an object, which must be taken.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        refused(self.ask(method, path, Some(body)).await?)
    }
}

fn refused((code, answer): Answer) -> Result<Value, String> {
    if code < 300 {
        return Ok(answer);
    }
    let message = answer["message"].as_str().unwrap_or("no reason given");
    Err(format!("{message} ({code})"))
}

fn content_type(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    }
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let provider: Arc<CryptoProvider> = ring::default_provider().into();
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

/// Believes any certificate; what is read this way is checked by its pin.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _own: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = ring::default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, &known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = ring::default_provider().signature_verification_algorithms;
        known.supported_schemes()
    }
}
