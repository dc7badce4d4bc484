//! Errors that only WinRM has.

use std::path::PathBuf;

use super::kerberos::KerberosError;
use crate::error::HostLabel;

/// An error of WinRM. `Display` is the cause in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WinRmError {
    /// The account or its password is wrong.
    #[error("authentication failed for `{user}` on {host}")]
    AuthenticationFailed {
        host: HostLabel,
        user: String,
        /// The method that was tried.
        method: &'static str,
        /// The methods that the host accepts.
        offered: String,
    },
    /// The login was rejected, and the clocks differ by more than a domain allows.
    #[error("authentication failed for `{user}` on {host}, whose clock is wrong")]
    ClockSkew {
        host: HostLabel,
        user: String,
        /// Seconds by which the host's clock is ahead; negative if it is behind.
        ahead: i64,
    },
    /// Without TLS, the host does not encrypt messages, or not strongly enough.
    #[error("{host} does not encrypt messages over HTTP")]
    Unencrypted { host: HostLabel, reason: String },
    /// The certificate is not signed by a trusted authority.
    #[error("the certificate of {host} is not trusted")]
    CertificateUnknown {
        host: HostLabel,
        /// Its SHA-256 fingerprint.
        offered: String,
        reason: String,
    },
    /// The certificate is not the pinned one.
    #[error("the certificate of {host} has changed")]
    CertificateChanged {
        host: HostLabel,
        /// The SHA-256 fingerprint of the presented certificate.
        offered: String,
        pinned: String,
    },
    /// The file with CA certificates is missing or invalid.
    #[error("`{}` cannot be used to verify certificates", path.display())]
    TrustFile { path: PathBuf, reason: String },
    /// Something other than WinRM answers on the port.
    #[error("the server on {host} is not a WinRM server")]
    NotWinRm { host: HostLabel, response: String },
    /// The login succeeded, but the account may not open a shell.
    #[error("`{user}` is not allowed to run commands on {host}")]
    Denied {
        host: HostLabel,
        user: String,
        /// The host's message.
        reason: String,
    },
    /// The host reports a fault.
    #[error("{host} failed to {action}")]
    Fault {
        host: HostLabel,
        /// What was requested.
        action: &'static str,
        /// The host's message and code.
        reason: String,
    },
    /// A response failed its integrity check, or the host did not prove its identity.
    #[error("a response from {host} failed its integrity check")]
    Tampered { host: HostLabel, reason: String },
    #[error(transparent)]
    Kerberos(#[from] KerberosError),
}

impl WinRmError {
    /// The stable code, also the argument of `casement explain`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AuthenticationFailed { .. } => "CAS-REM-001",
            Self::ClockSkew { .. } => "CAS-REM-002",
            Self::Unencrypted { .. } => "CAS-REM-004",
            Self::CertificateUnknown { .. } => "CAS-REM-005",
            Self::CertificateChanged { .. } => "CAS-REM-006",
            Self::TrustFile { .. } => "CAS-REM-008",
            Self::NotWinRm { .. } => "CAS-REM-009",
            Self::Denied { .. } => "CAS-REM-010",
            Self::Fault { .. } => "CAS-REM-011",
            Self::Tampered { .. } => "CAS-REM-012",
            Self::Kerberos(error) => error.code(),
        }
    }

    /// The values behind the cause, as label and value.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: &str| (label.to_owned(), value.to_owned());
        match self {
            Self::AuthenticationFailed {
                user,
                method,
                offered,
                ..
            } => vec![
                pair("user", user),
                pair("tried", method),
                pair("host accepts", offered),
            ],
            Self::ClockSkew { user, ahead, .. } => {
                let seconds = ahead.unsigned_abs();
                let direction = if *ahead < 0 { "behind" } else { "ahead" };
                let skew = format!("{} min {} s {direction}", seconds / 60, seconds % 60);
                vec![pair("user", user), pair("host clock", &skew)]
            }
            Self::CertificateUnknown {
                offered, reason, ..
            } => vec![pair("host presents", offered), pair("reason", reason)],
            Self::CertificateChanged {
                offered, pinned, ..
            } => vec![pair("pinned", pinned), pair("host presents", offered)],
            Self::NotWinRm { response, .. } => vec![pair("response", response)],
            Self::Denied { reason, .. } | Self::Fault { reason, .. } => {
                vec![pair("response", reason)]
            }
            Self::Unencrypted { reason, .. }
            | Self::TrustFile { reason, .. }
            | Self::Tampered { reason, .. } => vec![pair("reason", reason)],
            Self::Kerberos(error) => error.details(),
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            Self::AuthenticationFailed { .. } => {
                "Check `access.winrm.user` and its password. On a domain member, write a local \
                 account as `HOST\\user` and a domain account as `DOMAIN\\user`. If NTLM is \
                 disabled, run `kinit` first to use Kerberos."
                    .to_owned()
            }
            Self::ClockSkew { .. } => {
                "Synchronize the clocks first (on the host: `w32tm /resync`): authentication fails \
                 if they differ by more than five minutes. If it still fails, check the password."
                    .to_owned()
            }
            Self::Unencrypted { .. } => "Create an HTTPS listener on the host and set `transport: \
                 https`, or enable Negotiate there: `winrm set winrm/config/service/auth \
                 @{Negotiate=\"true\"}`. `AllowUnencrypted` is never needed."
                .to_owned(),
            Self::CertificateUnknown { .. } => {
                "Set the CA certificate in `access.winrm.ca`. For a \
                 self-signed certificate, compare the fingerprint with the one on the host itself \
                 (`certutil -store My` shows the certificate, `certutil -hashfile FILE SHA256` \
                 hashes its .cer file), and set it in `access.winrm.fingerprint` of the host."
                    .to_owned()
            }
            Self::CertificateChanged { .. } => "Either the host has a new certificate or someone \
                 is intercepting the connection. If the certificate is new, compare the \
                 fingerprint on the host itself, and set it in `access.winrm.fingerprint`."
                .to_owned(),
            Self::TrustFile { .. } => {
                "Set a PEM file with CA certificates in `access.winrm.ca`.".to_owned()
            }
            Self::NotWinRm { host, .. } => format!(
                "Check what listens on port {} of the host. WinRM uses 5986 with `transport: \
                 https` and 5985 with `transport: http`.",
                host.port()
            ),
            Self::Denied { .. } => "Use an account that is an administrator on the host. A local \
                 account other than `Administrator` also needs LocalAccountTokenFilterPolicy = 1."
                .to_owned(),
            Self::Fault { .. } => {
                "Run `winrm get winrm/config` on the host to see its limits, then run the command \
                 again to resume."
                    .to_owned()
            }
            Self::Tampered { .. } => {
                "Something between this computer and the host, such as a proxy, modifies the \
                 traffic. Use `transport: https`."
                    .to_owned()
            }
            Self::Kerberos(error) => error.remedy(),
        }
    }
}
