//! The registry's certificate and the CA that clients trust.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::RegistryError;

/// A CA and a certificate issued by it, as PEM. The CA's private key is not kept,
/// because no second certificate is needed.
#[derive(Clone)]
pub struct Certificates {
    pub ca_pem: String,
    pub cert_pem: String,
    /// The private key of `cert_pem`.
    pub key_pem: String,
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates")
            .field("ca_pem", &self.ca_pem)
            .finish_non_exhaustive()
    }
}

/// `names` are the host names and addresses that clients connect to.
pub fn make_certificates<S: AsRef<str>>(names: &[S]) -> Result<Certificates, RegistryError> {
    let mut ca = params("casement lab registry CA", Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

    let names = names.iter().map(|name| name.as_ref().to_owned()).collect();
    let mut leaf = params("casement lab registry", names)?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    Ok(Certificates {
        cert_pem: leaf.signed_by(&key, &ca)?.pem(),
        key_pem: key.serialize_pem(),
        ca_pem: ca.pem(),
    })
}

/// The fixed validity period covers any lab, even if its clock is wrong.
fn params(common_name: &str, names: Vec<String>) -> Result<CertificateParams, RegistryError> {
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2024, 1, 1);
    params.not_after = date_time_ymd(2044, 1, 1);
    Ok(params)
}

impl Certificates {
    pub(super) fn server(&self) -> Result<ServerConfig, RegistryError> {
        let chain = CertificateDer::pem_slice_iter(self.cert_pem.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes())?;
        Ok(
            ServerConfig::builder_with_provider(ring::default_provider().into())
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(chain, key)?,
        )
    }
}
