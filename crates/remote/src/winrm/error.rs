//! Errors that only WinRM has.

use casement_diag::Problem;

use super::kerberos::KerberosError;
use crate::error::HostLabel;

mod certificate;

pub use certificate::CertificateError;

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
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Kerberos(#[from] KerberosError),
}

impl WinRmError {
    /// Code, cause, the values behind it, and help.
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::AuthenticationFailed {
                user,
                method,
                offered,
                ..
            } => Problem::new(
                "CAS-REM-001",
                what,
                "Check `access.winrm.user` and its password. On a domain member, write a local \
                 account as `HOST\\user` and a domain account as `DOMAIN\\user`. If NTLM is \
                 disabled, run `kinit` first to use Kerberos.",
            )
            .detail("user", user)
            .detail("tried", method)
            .detail("host accepts", offered),
            Self::ClockSkew { user, ahead, .. } => Problem::new(
                "CAS-REM-002",
                what,
                "Synchronize the clocks first (on the host: `w32tm /resync`): authentication fails \
                 if they differ by more than five minutes. If it still fails, check the password.",
            )
            .detail("user", user)
            .detail("host clock", skew(*ahead)),
            Self::Unencrypted { reason, .. } => Problem::new(
                "CAS-REM-004",
                what,
                "Create an HTTPS listener on the host and set `transport: https`, or enable \
                 Negotiate there: `winrm set winrm/config/service/auth @{Negotiate=\"true\"}`. \
                 `AllowUnencrypted` is never needed.",
            )
            .detail("reason", reason),
            Self::NotWinRm { host, response } => Problem::new(
                "CAS-REM-009",
                what,
                format!(
                    "Check what listens on port {} of the host. WinRM uses 5986 with `transport: \
                     https` and 5985 with `transport: http`.",
                    host.port()
                ),
            )
            .detail("response", response),
            Self::Denied { reason, .. } => Problem::new(
                "CAS-REM-010",
                what,
                "Use an account that is an administrator on the host. A local account other than \
                 `Administrator` also needs LocalAccountTokenFilterPolicy = 1.",
            )
            .detail("response", reason),
            Self::Fault { reason, .. } => Problem::new(
                "CAS-REM-011",
                what,
                "Run `winrm get winrm/config` on the host to see its limits, then run the command \
                 again to resume.",
            )
            .detail("response", reason),
            Self::Tampered { reason, .. } => Problem::new(
                "CAS-REM-012",
                what,
                "Something between this computer and the host, such as a proxy, modifies the \
                 traffic. Use `transport: https`.",
            )
            .detail("reason", reason),
            Self::Certificate(error) => error.problem(),
            Self::Kerberos(error) => error.problem(),
        }
    }
}

/// `ahead`: seconds; negative if the host's clock is behind.
fn skew(ahead: i64) -> String {
    let seconds = ahead.unsigned_abs();
    let direction = if ahead < 0 { "behind" } else { "ahead" };
    format!("{} min {} s {direction}", seconds / 60, seconds % 60)
}
