//! What goes wrong with WinRM only.

use std::path::PathBuf;

use super::kerberos::KerberosError;
use crate::error::Place;

/// An error that SSH does not know. `Display` is the cause in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WinRmError {
    /// The account or its password is not right.
    #[error("{place} does not let `{user}` in")]
    Refused {
        /// The host.
        place: Place,
        /// The account.
        user: String,
        /// How the login was tried.
        method: &'static str,
        /// What the host takes instead.
        offered: String,
    },
    /// The login was refused, and the clocks do not agree.
    #[error("{place} does not let `{user}` in, and its clock is not ours")]
    ClockSkew {
        /// The host.
        place: Place,
        /// The account.
        user: String,
        /// By how many seconds the host's clock is ahead; negative: behind.
        ahead: i64,
    },
    /// Without TLS the host does not seal what is said, or not well enough.
    #[error("{place} would speak in clear over HTTP, which casement does not do")]
    Unencrypted {
        /// The host.
        place: Place,
        /// What was seen.
        seen: String,
    },
    /// Nobody who is trusted vouches for the certificate.
    #[error("the certificate of {place} is not known")]
    CertificateUnknown {
        /// The host.
        place: Place,
        /// Its SHA-256 fingerprint.
        offered: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another certificate than the pinned one.
    #[error("the certificate of {place} has changed")]
    CertificateChanged {
        /// The host.
        place: Place,
        /// The SHA-256 fingerprint of what it offers.
        offered: String,
        /// The pinned one.
        pinned: String,
    },
    /// The file of those who sign is not there, or is none.
    #[error("`{}` cannot be used to check certificates", path.display())]
    TrustFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Something else than WinRM answers on the port.
    #[error("{place} answers, but not as WinRM")]
    NotWinRm {
        /// The host.
        place: Place,
        /// What came.
        seen: String,
    },
    /// The account is right, and may not open a shell.
    #[error("{place} lets `{user}` in, but not to run commands")]
    Denied {
        /// The host.
        place: Place,
        /// The account.
        user: String,
        /// In the host's words.
        reason: String,
    },
    /// The host does not do what it was asked for.
    #[error("{place} does not {action}")]
    Fault {
        /// The host.
        place: Place,
        /// What it was asked for.
        action: &'static str,
        /// In the host's words, with its code.
        reason: String,
    },
    /// A message of the host was changed on its way.
    #[error("an answer of {place} was changed on its way")]
    Forged {
        /// The host.
        place: Place,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that only Kerberos knows.
    #[error(transparent)]
    Kerberos(#[from] KerberosError),
}

impl WinRmError {
    /// The stable code that `casement explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "CAS-REM-001",
            Self::ClockSkew { .. } => "CAS-REM-002",
            Self::Unencrypted { .. } => "CAS-REM-004",
            Self::CertificateUnknown { .. } => "CAS-REM-005",
            Self::CertificateChanged { .. } => "CAS-REM-006",
            Self::TrustFile { .. } => "CAS-REM-008",
            Self::NotWinRm { .. } => "CAS-REM-009",
            Self::Denied { .. } => "CAS-REM-010",
            Self::Fault { .. } => "CAS-REM-011",
            Self::Forged { .. } => "CAS-REM-012",
            Self::Kerberos(error) => error.code(),
        }
    }

    /// The values behind the cause, as label and value.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: &str| (label.to_owned(), value.to_owned());
        match self {
            Self::Refused {
                user,
                method,
                offered,
                ..
            } => vec![
                pair("user", user),
                pair("tried", method),
                pair("it takes", offered),
            ],
            Self::ClockSkew { user, ahead, .. } => {
                let seconds = ahead.unsigned_abs();
                let way = if *ahead < 0 { "behind" } else { "ahead" };
                let by = format!("{} min {} s {way}", seconds / 60, seconds % 60);
                vec![pair("user", user), pair("its clock", &by)]
            }
            Self::CertificateUnknown {
                offered, reason, ..
            } => vec![pair("it offers", offered), pair("reason", reason)],
            Self::CertificateChanged {
                offered, pinned, ..
            } => vec![pair("pinned", pinned), pair("it offers", offered)],
            Self::Unencrypted { seen, .. } | Self::NotWinRm { seen, .. } => {
                vec![pair("it says", seen)]
            }
            Self::Denied { reason, .. } | Self::Fault { reason, .. } => {
                vec![pair("it says", reason)]
            }
            Self::TrustFile { reason, .. } | Self::Forged { reason, .. } => {
                vec![pair("reason", reason)]
            }
            Self::Kerberos(error) => error.details(),
        }
    }

    /// What to do now.
    pub fn remedy(&self) -> String {
        match self {
            Self::Refused { .. } => {
                "Check `access.winrm.user` and its password; a local account of a machine in a \
                 domain is `MACHINE\\user`, an account of the domain `DOMAIN\\user`. Where NTLM \
                 is switched off: `kinit` first, for Kerberos."
                    .to_owned()
            }
            Self::ClockSkew { .. } => {
                "Set the clocks first (on the host: `w32tm /resync`): logins fail when they \
                 differ by more than five minutes. If they fail after that, it is the password."
                    .to_owned()
            }
            Self::Unencrypted { .. } => "Give the host an HTTPS listener and use `transport: \
                 https`; or allow Negotiate there: `winrm set winrm/config/service/auth \
                 @{Negotiate=\"true\"}`. `AllowUnencrypted` is never needed."
                .to_owned(),
            Self::CertificateUnknown { .. } => "Name who signed it as `access.winrm.ca`. For a \
                 self-signed one: compare the fingerprint with the one on the host itself \
                 (`certutil -store My` shows the certificate, `certutil -hashfile FILE SHA256` \
                 hashes its .cer), and pin it as `access.winrm.fingerprint` of that host."
                .to_owned(),
            Self::CertificateChanged { .. } => "Either the host got a new certificate, or \
                 somebody stands in between. If it is new: compare the fingerprint on the host \
                 itself, and put it into `access.winrm.fingerprint`."
                .to_owned(),
            Self::TrustFile { .. } => {
                "Name a PEM file with the certificates of those who sign as `access.winrm.ca`."
                    .to_owned()
            }
            Self::NotWinRm { place, .. } => format!(
                "See what listens on port {} there; WinRM is 5986 with `transport: https`, 5985 \
                 with `transport: http`.",
                place.port()
            ),
            Self::Denied { .. } => "The account must be an administrator there. A local account \
                 other than `Administrator` needs LocalAccountTokenFilterPolicy = 1 as well."
                .to_owned(),
            Self::Fault { .. } => {
                "`winrm get winrm/config` on the host shows its limits; `casement apply` goes on \
                 from where it was."
                    .to_owned()
            }
            Self::Forged { .. } => {
                "Something between here and the host changes what goes through (a proxy?). Use \
                 `transport: https`."
                    .to_owned()
            }
            Self::Kerberos(error) => error.remedy(),
        }
    }
}
