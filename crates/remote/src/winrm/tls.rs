//! TLS to a host: which certificate is the right one, and what ties a login to
//! the connection.

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

use super::error::WinRmError;
use super::target::Trust;
use crate::error::{Place, RemoteError};

/// The fingerprint as people compare it.
fn fingerprint(certificate: &[u8]) -> Sha256 {
    Sha256::of(certificate)
}

/// Why a certificate was turned down; kept because rustls passes only text on.
#[derive(Debug, Clone)]
enum Verdict {
    Unknown { offered: Sha256, reason: String },
    Changed { offered: Sha256, pinned: Sha256 },
}

#[derive(Debug)]
enum Against {
    Signers(Arc<dyn ServerCertVerifier>),
    Pin(Sha256),
}

/// Checks what the host shows.
#[derive(Debug)]
struct Judge {
    against: Against,
    provider: Arc<CryptoProvider>,
    verdict: Arc<Mutex<Option<Verdict>>>,
}

impl Judge {
    fn note(&self, verdict: Verdict) -> Error {
        let mut place = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(verdict);
        Error::General("the certificate is not the right one".to_owned())
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let offered = fingerprint(end_entity);
        match &self.against {
            Against::Pin(pinned) if *pinned == offered => Ok(ServerCertVerified::assertion()),
            Against::Pin(pinned) => Err(self.note(Verdict::Changed {
                offered,
                pinned: *pinned,
            })),
            Against::Signers(signers) => signers
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .map_err(|error| {
                    let reason = error.to_string();
                    self.note(Verdict::Unknown { offered, reason })
                }),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Shakes hands over `stream`; the certificate is judged by `trust`.
pub(crate) async fn shake_hands(
    stream: TcpStream,
    trust: &Trust,
    place: &Place,
) -> Result<TlsStream<TcpStream>, RemoteError> {
    let provider = Arc::new(ring::default_provider());
    let verdict = Arc::new(Mutex::new(None));
    let judge = Judge {
        against: against(trust, &provider)?,
        provider: Arc::clone(&provider),
        verdict: Arc::clone(&verdict),
    };
    let not_winrm = |reason: String| WinRmError::NotWinRm {
        place: place.clone(),
        seen: reason,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| not_winrm(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge))
        .with_no_client_auth();
    let name = ServerName::try_from(place.address().to_owned())
        .map_err(|error| not_winrm(error.to_string()))?;
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match shaken.await {
        Ok(stream) => Ok(stream),
        Err(error) => {
            let verdict = verdict.lock().unwrap_or_else(PoisonError::into_inner);
            Err(match verdict.clone() {
                Some(Verdict::Unknown { offered, reason }) => WinRmError::CertificateUnknown {
                    place: place.clone(),
                    offered: offered.to_string(),
                    reason,
                }
                .into(),
                Some(Verdict::Changed { offered, pinned }) => WinRmError::CertificateChanged {
                    place: place.clone(),
                    offered: offered.to_string(),
                    pinned: pinned.to_string(),
                }
                .into(),
                None if is_cut(&error) => RemoteError::Lost {
                    place: place.clone(),
                    step: "the TLS handshake",
                    source: Some(Box::new(error)),
                },
                None => not_winrm(error.to_string()).into(),
            })
        }
    }
}

fn is_cut(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    )
}

fn against(trust: &Trust, provider: &Arc<CryptoProvider>) -> Result<Against, WinRmError> {
    let path = match trust {
        Trust::Pinned(pin) => return Ok(Against::Pin(*pin)),
        Trust::Signed(path) => path,
        Trust::System => {
            let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(provider));
            let verifier = verifier.map_err(|error| WinRmError::TrustFile {
                path: "the system's certificates".into(),
                reason: error.to_string(),
            })?;
            return Ok(Against::Signers(Arc::new(verifier)));
        }
    };
    let unusable = |reason: String| WinRmError::TrustFile {
        path: path.clone(),
        reason,
    };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it has no certificate".to_owned()));
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| unusable(error.to_string()))?;
    Ok(Against::Signers(verifier))
}

/// What a login puts into its proof so that it is good for this connection only:
/// the hash over the host's certificate (RFC 5929, `tls-server-end-point`).
pub(crate) fn end_point(stream: &TlsStream<TcpStream>) -> Option<Vec<u8>> {
    let (_, connection) = stream.get_ref();
    let certificate = connection.peer_certificates()?.first()?;
    end_point_of(certificate)
}

fn end_point_of(certificate: &[u8]) -> Option<Vec<u8>> {
    use sha2::Digest as _;
    let (_, read) = x509_parser::parse_x509_certificate(certificate).ok()?;
    // The hash of the certificate's own signature, SHA-256 in place of older ones.
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
