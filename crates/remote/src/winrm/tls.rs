//! TLS to a host: certificate verification and channel binding.

use std::sync::{Arc, Mutex, PoisonError};

use casement_resource::Sha256;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::{CertificateError, WinRmError};
use super::target::Trust;
use crate::error::{ConnectionError, HostLabel, RemoteError};

/// The SHA-256 of the DER encoding.
fn fingerprint(certificate: &[u8]) -> Sha256 {
    Sha256::of(certificate)
}

/// Why a certificate was rejected; kept because rustls passes on only text.
#[derive(Debug, Clone)]
enum Rejection {
    Unknown { offered: Sha256, reason: String },
    Changed { offered: Sha256, pinned: Sha256 },
}

#[derive(Debug)]
enum TrustAnchor {
    Roots(Arc<dyn ServerCertVerifier>),
    Pin(Sha256),
}

#[derive(Debug)]
struct CertificateVerifier {
    anchor: TrustAnchor,
    provider: Arc<CryptoProvider>,
    rejection: Arc<Mutex<Option<Rejection>>>,
}

impl CertificateVerifier {
    fn reject(&self, rejection: Rejection) -> Error {
        let mut slot = self
            .rejection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = Some(rejection);
        Error::General("the certificate is not trusted".to_owned())
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let offered = fingerprint(end_entity);
        match &self.anchor {
            TrustAnchor::Pin(pinned) if *pinned == offered => Ok(ServerCertVerified::assertion()),
            TrustAnchor::Pin(pinned) => Err(self.reject(Rejection::Changed {
                offered,
                pinned: *pinned,
            })),
            TrustAnchor::Roots(roots) => roots
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .map_err(|error| {
                    let reason = error.to_string();
                    self.reject(Rejection::Unknown { offered, reason })
                }),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Connects over `stream` and verifies the certificate against `trust`.
pub(crate) async fn handshake(
    stream: TcpStream,
    trust: &Trust,
    host: &HostLabel,
) -> Result<TlsStream<TcpStream>, RemoteError> {
    let provider = Arc::new(ring::default_provider());
    let rejection = Arc::new(Mutex::new(None));
    let verifier = CertificateVerifier {
        anchor: anchor(trust, &provider).map_err(WinRmError::from)?,
        provider: Arc::clone(&provider),
        rejection: Arc::clone(&rejection),
    };
    let not_winrm = |response: String| WinRmError::NotWinRm {
        host: host.clone(),
        response,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| not_winrm(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(host.address().to_owned())
        .map_err(|error| not_winrm(error.to_string()))?;
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match connected.await {
        Ok(stream) => Ok(stream),
        Err(error) => {
            let rejection = rejection.lock().unwrap_or_else(PoisonError::into_inner);
            Err(match rejection.clone() {
                Some(Rejection::Unknown { offered, reason }) => {
                    WinRmError::from(CertificateError::Unknown {
                        host: host.clone(),
                        offered: offered.to_string(),
                        reason,
                    })
                    .into()
                }
                Some(Rejection::Changed { offered, pinned }) => {
                    WinRmError::from(CertificateError::Changed {
                        host: host.clone(),
                        offered: offered.to_string(),
                        pinned: pinned.to_string(),
                    })
                    .into()
                }
                None if is_disconnect(&error) => RemoteError::Connection(ConnectionError::Lost {
                    host: host.clone(),
                    step: "the TLS handshake",
                    source: Some(Box::new(error)),
                }),
                None => not_winrm(error.to_string()).into(),
            })
        }
    }
}

fn is_disconnect(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    )
}

fn anchor(trust: &Trust, provider: &Arc<CryptoProvider>) -> Result<TrustAnchor, CertificateError> {
    let path = match trust {
        Trust::Pinned(pin) => return Ok(TrustAnchor::Pin(*pin)),
        Trust::Signed(path) => path,
        Trust::System => {
            let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(provider));
            let verifier = verifier.map_err(|error| CertificateError::TrustFile {
                path: "the system's certificate store".into(),
                reason: error.to_string(),
            })?;
            return Ok(TrustAnchor::Roots(Arc::new(verifier)));
        }
    };
    let invalid = |reason: String| CertificateError::TrustFile {
        path: path.clone(),
        reason,
    };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| invalid(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| invalid(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| invalid(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(invalid("the file contains no certificate".to_owned()));
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| invalid(error.to_string()))?;
    Ok(TrustAnchor::Roots(verifier))
}

/// The channel binding of a login, which makes it valid for this connection only: the
/// hash of the host certificate (RFC 5929, `tls-server-end-point`).
pub(crate) fn channel_binding(stream: &TlsStream<TcpStream>) -> Option<Vec<u8>> {
    let (_, connection) = stream.get_ref();
    let certificate = connection.peer_certificates()?.first()?;
    channel_binding_of(certificate)
}

fn channel_binding_of(certificate: &[u8]) -> Option<Vec<u8>> {
    use sha2::Digest as _;
    let (_, read) = x509_parser::parse_x509_certificate(certificate).ok()?;
    // The hash function of the certificate's signature, SHA-256 instead of older ones.
    let hash = match read.signature_algorithm.algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => {
            sha2::Sha384::digest(certificate).to_vec()
        }
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => {
            sha2::Sha512::digest(certificate).to_vec()
        }
        _ => sha2::Sha256::digest(certificate).to_vec(),
    };
    Some([b"tls-server-end-point:".as_slice(), &hash].concat())
}
