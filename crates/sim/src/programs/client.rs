//! API client of the simulated programs: HTTPS over a connection that stays open between
//! requests.

use std::fmt::Display;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
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

pub(crate) enum Credentials<'a> {
    Token(&'a str),
    /// A certificate and its key in one PEM text, as the kubelet stores them.
    Certificate(&'a str),
}

pub(crate) struct Client {
    server: String,
    tls: TlsConnector,
    token: Option<String>,
    /// The open connection of the last request. Requests of one client are sequential.
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// Status code and object.
pub(crate) type Response = (u16, Value);

/// The client of a program, reused until its identity changes.
#[derive(Default)]
pub(crate) struct CachedClient(Option<(Identity, Arc<Client>)>);

/// The server and credentials of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `address:port`.
    pub(crate) server: String,
    /// PEM of the server's CA.
    pub(crate) ca: String,
    /// PEM of the client certificate and its key.
    pub(crate) pem: String,
}

impl CachedClient {
    pub(crate) fn client(&mut self, identity: &Identity) -> Result<Arc<Client>, String> {
        if let Some((current, client)) = &self.0
            && current == identity
        {
            return Ok(Arc::clone(client));
        }
        let credentials = Credentials::Certificate(&identity.pem);
        let client = Client::new(&identity.server, &identity.ca, &credentials)?;
        let client = Arc::new(client);
        self.0 = Some((identity.clone(), Arc::clone(&client)));
        Ok(client)
    }
}

impl Client {
    /// A client that verifies the server's CA; `server` is `address:port`.
    pub(crate) fn new(
        server: &str,
        ca: &str,
        credentials: &Credentials<'_>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(ca.as_bytes()).map_err(|e| e.to_string())?;
        roots.add(ca).map_err(|e| e.to_string())?;
        let config = config_builder()?.with_root_certificates(roots);
        let (config, token) = match credentials {
            Credentials::Token(token) => (config.with_no_client_auth(), Some((*token).to_owned())),
            Credentials::Certificate(pem) => {
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
            connection: Mutex::default(),
        })
    }

    /// A client that does not know the CA yet, as kubeadm before it compares the pin.
    pub(crate) fn without_verification(server: &str) -> Result<Self, String> {
        let config = config_builder()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyServer))
            .with_no_client_auth();
        Ok(Self {
            server: server.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
            token: None,
            connection: Mutex::default(),
        })
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, String> {
        self.request_with_type(method, path, content_type(method), body)
            .await
    }

    async fn request_with_type(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: Option<&Value>,
    ) -> Result<Response, String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut connection = self.connection.lock().await;
        // Reconnect if the server has closed the connection.
        let mut sender = match reusable(connection.take()).await {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.host())
            .header("user-agent", "kubelet/simulated")
            .header("content-type", media_type);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| self.failed(&error))?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| self.failed(&error))?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.map_err(|error| self.failed(&error))?.to_bytes();
        *connection = Some(sender);
        Ok((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = TcpStream::connect(&self.server).await;
        let stream = stream.map_err(|error| self.failed(&error))?;
        let nodelay = stream.set_nodelay(true);
        nodelay.map_err(|error| self.failed(&error))?;
        let name = ServerName::try_from(self.host().to_owned());
        let name = name.map_err(|error| self.failed(&error))?;
        let stream = self.tls.connect(name, stream).await;
        let stream = stream.map_err(|error| self.failed(&error))?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.failed(&error))?;
        tokio::spawn(driver);
        Ok(sender)
    }

    fn host(&self) -> &str {
        self.server.rsplit_once(':').map_or("", |(host, _)| host)
    }

    fn failed(&self, error: &dyn Display) -> String {
        format!(
            "request to the API server `{}` failed: {error}",
            self.server
        )
    }

    /// Strategic merge patch, as kubelets and flannel send it: conditions of others are kept.
    pub(crate) async fn strategic_patch(&self, path: &str, patch: &Value) -> Result<Value, String> {
        let media_type = "application/strategic-merge-patch+json";
        into_result(
            self.request_with_type("PATCH", path, media_type, Some(patch))
                .await?,
        )
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        into_result(self.request("GET", path, None).await?)
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        into_result(self.request(method, path, Some(body)).await?)
    }
}

async fn reusable(sender: Option<SendRequest<Full<Bytes>>>) -> Option<SendRequest<Full<Bytes>>> {
    let mut sender = sender?;
    sender.ready().await.ok().map(|()| sender)
}

fn into_result((code, body): Response) -> Result<Value, String> {
    if code < 300 {
        return Ok(body);
    }
    let message = body["message"].as_str().unwrap_or("no reason given");
    Err(format!("{message} ({code})"))
}

fn content_type(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    }
}

fn config_builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let provider: Arc<CryptoProvider> = ring::default_provider().into();
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

/// Accepts any certificate; the caller checks the response against a pin.
#[derive(Debug)]
struct AcceptAnyServer;

impl ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _own: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
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
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
