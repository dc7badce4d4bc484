//! What goes wrong with tickets.

use crate::error::Place;

/// An error of Kerberos. `Display` is the cause in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KerberosError {
    /// The library that knows tickets is not here.
    #[error("Kerberos is not installed on this machine")]
    Absent {
        /// What the system says.
        reason: String,
    },
    /// Nobody fetched a ticket, or somebody else did.
    #[error("there is no Kerberos ticket of `{user}`")]
    NoTicket {
        /// The account.
        user: String,
        /// What is there instead.
        found: String,
    },
    /// The ticket was good once.
    #[error("the Kerberos ticket of `{principal}` has run out")]
    Expired {
        /// Whose it is.
        principal: String,
    },
    /// The domain does not know the host by that name.
    #[error("the domain has no ticket for `{service}`")]
    UnknownService {
        /// The name.
        service: String,
        /// In the library's words.
        reason: String,
    },
    /// Nobody who gives tickets can be asked.
    #[error("no domain controller answers")]
    NoServer {
        /// For whose ticket.
        service: String,
        /// In the library's words.
        reason: String,
    },
    /// The domain does not take the password.
    #[error("the domain does not let `{user}` in")]
    Refused {
        /// The account.
        user: String,
        /// In the library's words.
        reason: String,
    },
    /// The clocks are not the same.
    #[error("the clock here and the one of {other} are too far apart for Kerberos")]
    ClockSkew {
        /// Whose clock it is.
        other: String,
        /// In the library's words.
        reason: String,
    },
    /// The host does not take the ticket.
    #[error("{place} does not take the ticket of `{principal}`")]
    TurnedDown {
        /// The host.
        place: Place,
        /// Whose ticket it is.
        principal: String,
        /// Whom it is for.
        service: String,
        /// In the host's words.
        reason: String,
    },
    /// Something else, which the library has words for.
    #[error("no ticket for `{service}` can be had")]
    Failed {
        /// Whom it would be for.
        service: String,
        /// In the library's words.
        reason: String,
    },
}

impl KerberosError {
    /// The stable code that `casement explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "CAS-REM-001",
            Self::ClockSkew { .. } => "CAS-REM-002",
            Self::Absent { .. } => "CAS-REM-013",
            Self::NoTicket { .. } => "CAS-REM-014",
            Self::Expired { .. } => "CAS-REM-015",
            Self::UnknownService { .. } => "CAS-REM-016",
            Self::NoServer { .. } => "CAS-REM-017",
            Self::TurnedDown { .. } | Self::Failed { .. } => "CAS-REM-018",
        }
    }

    /// The values behind the cause, as label and value.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: &str| (label.to_owned(), value.to_owned());
        match self {
            Self::NoTicket { found, .. } => vec![pair("in the cache", found)],
            Self::Expired { .. } => Vec::new(),
            Self::TurnedDown {
                service, reason, ..
            }
            | Self::NoServer { service, reason } => {
                vec![pair("ticket for", service), pair("it says", reason)]
            }
            Self::Absent { reason }
            | Self::UnknownService { reason, .. }
            | Self::Refused { reason, .. }
            | Self::ClockSkew { reason, .. }
            | Self::Failed { reason, .. } => vec![pair("it says", reason)],
        }
    }

    /// What to do now.
    pub fn remedy(&self) -> String {
        match self {
            Self::Absent { .. } => "Install it (`apt-get install libgssapi-krb5-2`, `dnf install \
                 krb5-libs`), or write `auth: ntlm`."
                .into(),
            Self::NoTicket { user, .. } => format!(
                "Get one with `kinit {user}`; `klist` shows what is there. Or write whose that is \
                 as `access.winrm.user`, or where the password is as `access.winrm.password`."
            ),
            Self::Expired { principal } => {
                format!("Get a new one: `kinit {principal}`, then run it again.")
            }
            Self::UnknownService { .. } => "Is the host in the domain, and under that name? \
                 `access.winrm.domain` is what follows its name; `setspn -L HOST` on a domain \
                 controller shows what it is known as. For a host outside of the domain, write \
                 `auth: ntlm`."
                .into(),
            Self::NoServer { .. } => "See which ones `[realms]` of /etc/krb5.conf or the DNS name \
                 for the domain, and whether port 88 there is open from here."
                .into(),
            Self::Refused { .. } => {
                "Check `access.winrm.user`, `access.winrm.domain` and the password: `kinit` says \
                 the same."
                    .into()
            }
            Self::ClockSkew { .. } => "Set both by the domain's (here: `timedatectl`, on the \
                 host: `w32tm /resync`): Kerberos takes a difference of five minutes."
                .into(),
            Self::TurnedDown { .. } => "Does the host know itself by that name, and take \
                 Negotiate (`winrm get winrm/config/service/auth`)? After it left and joined the \
                 domain, old tickets are of no use: `kdestroy`, then `kinit`."
                .into(),
            Self::Failed { .. } => {
                "`KRB5_TRACE=/dev/stderr` before the command shows each step; `kvno SERVICE` \
                 asks for the same ticket."
                    .into()
            }
        }
    }
}
