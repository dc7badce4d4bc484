//! The cluster's CA, its certificates, and client authentication by certificate.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    self, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Name};

use super::ApiError;
use super::rbac::User;

pub(super) struct Pki {
    ca: CertifiedIssuer<'static, KeyPair>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Pki {
    pub(super) fn new() -> Result<Self, ApiError> {
        let mut ca = params("kubernetes", Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
        let mut roots = RootCertStore::empty();
        roots.add(ca.der().clone())?;
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| ApiError::Verifier(error.to_string()))?;
        Ok(Self { ca, verifier })
    }

    pub(super) fn ca_pem(&self) -> String {
        self.ca.pem()
    }

    /// TLS configuration with a server certificate for these names. Client certificates are
    /// optional and checked per request: an invalid one causes a 401, as on a real server,
    /// not a failed handshake.
    pub(super) fn server(&self, names: Vec<String>) -> Result<ServerConfig, ApiError> {
        let mut leaf = params("kube-apiserver", names)?;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &self.ca)?;
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes())?;
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AcceptAnyClient(Arc::clone(&self.verifier))))
            .with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(config)
    }

    /// The user in a certificate: common name and organizations. `None` if it is not issued
    /// by this CA or not valid now.
    pub(super) fn user(&self, chain: &[CertificateDer<'_>]) -> Option<User> {
        let (own, intermediates) = chain.split_first()?;
        let verified = self
            .verifier
            .verify_client_cert(own, intermediates, UnixTime::now());
        verified.ok()?;
        let (_, certificate) = X509Certificate::from_der(own).ok()?;
        let (name, groups) = subject(certificate.subject())?;
        Some(User { name, groups })
    }

    /// A kubeconfig with a new client certificate.
    pub(super) fn kubeconfig(&self, server: &str, user: &User) -> Result<String, ApiError> {
        let mut leaf = params(&user.name, Vec::new())?;
        for group in &user.groups {
            leaf.distinguished_name
                .push(DnType::OrganizationName, group.as_str());
        }
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &self.ca)?;
        let encode = |text: &str| STANDARD.encode(text);
        Ok(format!(
            "apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    server: {server}
    certificate-authority-data: {ca}
contexts:
- name: kubernetes
  context:
    cluster: kubernetes
    user: lab
current-context: kubernetes
users:
- name: lab
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
",
            ca = encode(&self.ca_pem()),
            certificate = encode(&certificate.pem()),
            key = encode(&key.serialize_pem()),
        ))
    }

    pub(super) fn sign(&self, request: &str) -> Result<String, rcgen::Error> {
        let mut request = CertificateSigningRequestParams::from_pem(request)?;
        let params = &mut request.params;
        params.not_before = date_time_ymd(2024, 1, 1);
        params.not_after = date_time_ymd(2044, 1, 1);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Ok(request.signed_by(&self.ca)?.pem())
    }
}

/// Common name and organizations in a certificate signing request.
pub(super) fn requested_subject(request: &str) -> Option<(String, Vec<String>)> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(request.as_bytes()).ok()?;
    let parsed =
        x509_parser::certification_request::X509CertificationRequest::from_der(&pem.contents);
    let (_, request) = parsed.ok()?;
    subject(&request.certification_request_info.subject)
}

fn subject(name: &X509Name<'_>) -> Option<(String, Vec<String>)> {
    let common = name.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups = name.iter_organization();
    let groups = groups.filter_map(|group| group.as_str().ok().map(str::to_owned));
    Some((common, groups.collect()))
}

/// The validity period is wide enough for any clock and lifetime of a lab.
fn params(common_name: &str, names: Vec<String>) -> Result<CertificateParams, ApiError> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2024, 1, 1);
    params.not_after = date_time_ymd(2044, 1, 1);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Accepts any certificate if the client has its key; [`Pki::user`] verifies it.
#[derive(Debug)]
struct AcceptAnyClient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AcceptAnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _own: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
