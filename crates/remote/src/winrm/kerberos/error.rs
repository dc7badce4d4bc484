//! Errors of Kerberos.

use casement_diag::Problem;

use crate::error::HostLabel;

/// An error of Kerberos. `Display` is the cause in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KerberosError {
    /// The GSSAPI library cannot be loaded.
    #[error("Kerberos is not installed on this computer")]
    NotInstalled { reason: String },
    /// The cache has no ticket, or only one of another account.
    #[error("no Kerberos ticket for `{user}`")]
    NoTicket {
        user: String,
        /// What the cache has instead.
        found: String,
    },
    #[error("the Kerberos ticket of `{principal}` has expired")]
    Expired { principal: String },
    /// The domain has no host of this name.
    #[error("service `{service}` not found in the domain")]
    UnknownService { service: String, reason: String },
    /// No domain controller can be reached.
    #[error("no domain controller is reachable")]
    NoServer { service: String, reason: String },
    /// The domain rejects the account or its password.
    #[error("Kerberos authentication failed for `{user}`")]
    AuthenticationFailed { user: String, reason: String },
    #[error("the local clock and the clock of {other} differ too much for Kerberos")]
    ClockSkew { other: String, reason: String },
    #[error("{host} rejected the Kerberos ticket of `{principal}`")]
    TicketRejected {
        host: HostLabel,
        principal: String,
        service: String,
        reason: String,
    },
    /// Any other failure that the library reports.
    #[error("failed to get a Kerberos ticket for `{service}`")]
    Failed { service: String, reason: String },
}

impl KerberosError {
    /// Code, cause, the values behind it, and help.
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::NotInstalled { reason } => Problem::new(
                "CAS-REM-013",
                what,
                "Install it (`apt-get install libgssapi-krb5-2`, `dnf install krb5-libs`), or set \
                 `auth: ntlm`.",
            )
            .detail("reason", reason),
            Self::NoTicket { user, found } => Problem::new(
                "CAS-REM-014",
                what,
                format!(
                    "Run `kinit {user}`; `klist` shows the tickets. Or set the owner of the \
                     ticket in `access.winrm.user`, or a password in `access.winrm.password`."
                ),
            )
            .detail("ticket cache", found),
            Self::Expired { principal } => Problem::new(
                "CAS-REM-015",
                what,
                format!("Run `kinit {principal}`, then run the command again."),
            ),
            Self::UnknownService { reason, .. } => Problem::new(
                "CAS-REM-016",
                what,
                "Check that the host is a member of the domain under this name: \
                 `access.winrm.domain` is the part after the host name, and `setspn -L HOST` on a \
                 domain controller lists its service names. For a host outside the domain, set \
                 `auth: ntlm`.",
            )
            .detail("reason", reason),
            Self::NoServer { service, reason } => Problem::new(
                "CAS-REM-017",
                what,
                "Check which domain controllers `[realms]` in /etc/krb5.conf or DNS lists for the \
                 domain, and that port 88 is open from here.",
            )
            .detail("ticket for", service)
            .detail("reason", reason),
            Self::AuthenticationFailed { reason, .. } => Problem::new(
                "CAS-REM-001",
                what,
                "Check `access.winrm.user`, `access.winrm.domain` and the password; `kinit` fails \
                 the same way.",
            )
            .detail("reason", reason),
            Self::ClockSkew { reason, .. } => Problem::new(
                "CAS-REM-002",
                what,
                "Synchronize both clocks with the domain (here: `timedatectl`, on the host: \
                 `w32tm /resync`): Kerberos allows a difference of five minutes.",
            )
            .detail("reason", reason),
            Self::TicketRejected {
                service, reason, ..
            } => Problem::new(
                "CAS-REM-018",
                what,
                "Check that this is the host's own name and that it accepts Negotiate (`winrm get \
                 winrm/config/service/auth`). If the host has left and rejoined the domain, old \
                 tickets are invalid: run `kdestroy`, then `kinit`.",
            )
            .detail("ticket for", service)
            .detail("reason", reason),
            Self::Failed { reason, .. } => Problem::new(
                "CAS-REM-018",
                what,
                "Set `KRB5_TRACE=/dev/stderr` for the command to see each step; `kvno SERVICE` \
                 requests the same ticket.",
            )
            .detail("reason", reason),
        }
    }
}
