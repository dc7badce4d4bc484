//! Errors of the certificate of a WinRM listener.

use std::path::PathBuf;

use casement_diag::Problem;

use crate::error::HostLabel;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The certificate is not signed by a trusted authority.
    #[error("the certificate of {host} is not trusted")]
    Unknown {
        host: HostLabel,
        /// Its SHA-256 fingerprint.
        offered: String,
        reason: String,
    },
    /// The certificate is not the pinned one.
    #[error("the certificate of {host} has changed")]
    Changed {
        host: HostLabel,
        /// The SHA-256 fingerprint of the presented certificate.
        offered: String,
        pinned: String,
    },
    /// The file with CA certificates is missing or invalid.
    #[error("`{}` cannot be used to verify certificates", path.display())]
    TrustFile { path: PathBuf, reason: String },
}

impl CertificateError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::Unknown {
                offered, reason, ..
            } => Problem::new(
                "CAS-REM-005",
                what,
                "Set the CA certificate in `access.winrm.ca`. For a self-signed certificate, \
                 compare the fingerprint with the one on the host itself (`certutil -store My` \
                 shows the certificate, `certutil -hashfile FILE SHA256` hashes its .cer file), \
                 and set it in `access.winrm.fingerprint` of the host.",
            )
            .detail("host presents", offered)
            .detail("reason", reason),
            Self::Changed {
                offered, pinned, ..
            } => Problem::new(
                "CAS-REM-006",
                what,
                "Either the host has a new certificate or someone is intercepting the connection. \
                 If the certificate is new, compare the fingerprint on the host itself, and set \
                 it in `access.winrm.fingerprint`.",
            )
            .detail("pinned", pinned)
            .detail("host presents", offered),
            Self::TrustFile { reason, .. } => Problem::new(
                "CAS-REM-008",
                what,
                "Set a PEM file with CA certificates in `access.winrm.ca`.",
            )
            .detail("reason", reason),
        }
    }
}
