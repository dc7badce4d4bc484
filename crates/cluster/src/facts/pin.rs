//! The CA hash for `kubeadm join --discovery-token-ca-cert-hash`: SHA-256 of the
//! certificate's SubjectPublicKeyInfo.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use sha2::Digest as _;
use x509_parser::parse_x509_certificate;

use crate::error::ClusterError;

/// One hash per certificate of the bundle.
pub(super) fn hashes(pem: &str) -> Result<Vec<String>, ClusterError> {
    let unusable = |reason: String| ClusterError::Unusable {
        what: "the cluster's CA".to_owned(),
        reason,
    };
    let mut hashes = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let der = certificate.map_err(|error| unusable(error.to_string()))?;
        let parsed = parse_x509_certificate(&der);
        let (_, certificate) = parsed.map_err(|error| unusable(error.to_string()))?;
        let digest = sha2::Sha256::digest(certificate.public_key().raw);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        hashes.push(format!("sha256:{digest}"));
    }
    match hashes.is_empty() {
        true => Err(unusable("it contains no certificate".to_owned())),
        false => Ok(hashes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_matches_openssl() {
        let hashes = hashes(include_str!("../../tests/ca.crt")).unwrap();
        let expected = include_str!("../../tests/ca.sha256").trim();
        assert_eq!(hashes, [format!("sha256:{expected}")]);
    }

    #[test]
    fn a_bundle_without_certificates_is_rejected() {
        assert_eq!(hashes("").unwrap_err().code(), "CAS-API-009");
    }
}
