//! How the programs of simulated hosts speak to an API server: HTTPS, as a node
//! does it, over a connection that stays open between requests.

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

/// Who asks.
pub(crate) enum Who<'a> {
    /// The bearer of a bootstrap token.
    Token(&'a str),
    /// A certificate with its key, in one PEM text as the kubelet keeps it.
    Certificate(&'a str),
}

/// One who asks an API server.
pub(crate) struct Client {
    server: String,
    tls: TlsConnector,
    token: Option<String>,
    /// The connection that the last request has left open. Requests of one client
    /// come one after the other.
    open: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// What the server answered: the code, and the object.
pub(crate) type Answer = (u16, Value);

/// The client of a program, for as long as what makes it who it is stays.
#[derive(Default)]
pub(crate) struct Kept(Option<(Identity, Arc<Client>)>);

/// What a program knows of the server and of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// An address with a port.
    pub(crate) server: String,
    /// The server's CA, PEM.
    pub(crate) ca: String,
    /// Its own certificate with its key, PEM.
    pub(crate) pem: String,
}

impl Kept {
    /// The same client as before, or a new one for another identity.
    pub(crate) fn client(&mut self, identity: &Identity) -> Result<Arc<Client>, String> {
        if let Some((of, client)) = &self.0
            && of == identity
        {
            return Ok(Arc::clone(client));
        }
        let who = Who::Certificate(&identity.pem);
        let client = Client::new(&identity.server, &identity.ca, &who)?;
        let client = Arc::new(client);
        self.0 = Some((identity.clone(), Arc::clone(&client)));
        Ok(client)
    }
}

impl Client {
    /// Somebody who knows the server's CA; `server` is an address with a port.
    pub(crate) fn new(server: &str, ca: &str, who: &Who<'_>) -> Result<Self, String> {
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
            open: Mutex::default(),
        })
    }

    /// Somebody who does not know the CA yet, as kubeadm before it has the pin
    /// compared.
    pub(crate) fn trusting(server: &str) -> Result<Self, String> {
        let config = builder()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trusting))
            .with_no_client_auth();
        Ok(Self {
            server: server.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
            token: None,
            open: Mutex::default(),
        })
    }

    /// Asks, and reads the answer to its end.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        self.ask_as(method, path, content_type(method), body).await
    }

    /// The same with a body of this type.
    async fn ask_as(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut open = self.open.lock().await;
        // One that the server has closed meanwhile is as good as none.
        let mut sender = match live(open.take()).await {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.host())
            .header("user-agent", "kubelet/simulated")
            .header("content-type", content);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| self.unreachable(&error))?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.map_err(|error| self.unreachable(&error))?.to_bytes();
        *open = Some(sender);
        Ok((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = TcpStream::connect(&self.server).await;
        let stream = stream.map_err(|error| self.unreachable(&error))?;
        let nodelay = stream.set_nodelay(true);
        nodelay.map_err(|error| self.unreachable(&error))?;
        let name = ServerName::try_from(self.host().to_owned());
        let name = name.map_err(|error| self.unreachable(&error))?;
        let stream = self.tls.connect(name, stream).await;
        let stream = stream.map_err(|error| self.unreachable(&error))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(&error))?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn host(&self) -> &str {
        self.server.rsplit_once(':').map_or("", |(host, _)| host)
    }

    fn unreachable(&self, error: &dyn Display) -> String {
        format!("the API server `{}` does not answer: {error}", self.server)
    }

    /// Lays fields over an object as kubelets and flannel do it: conditions of
    /// others stay.
    pub(crate) async fn lay_over(&self, path: &str, patch: &Value) -> Result<Value, String> {
        let content = "application/strategic-merge-patch+json";
        refused(self.ask_as("PATCH", path, content, Some(patch)).await?)
    }

    /// Asks for something that must be there.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        refused(self.ask("GET", path, None).await?)
    }

    /// Sends an object, which must be taken.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        refused(self.ask(method, path, Some(body)).await?)
    }
}

async fn live(sender: Option<SendRequest<Full<Bytes>>>) -> Option<SendRequest<Full<Bytes>>> {
    let mut sender = sender?;
    sender.ready().await.ok().map(|()| sender)
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
