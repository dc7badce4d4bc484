//! Kerberos: a login with a ticket, which needs no password and no NTLM.
//!
//! MIT's library manages tickets, their cache and encryption, and finds the domain
//! controller. It is loaded when a login needs a ticket: casement neither links against
//! it nor needs it to run. No credentials are delegated to the host.
//!
//! The token is sent as `Negotiate`, not wrapped in SPNEGO, and sealed messages have the
//! same layout as with NTLM, as in pywinrm.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use casement_resource::Secret;
use tokio::sync::oneshot;
use tokio::time::timeout;

mod account;
mod cause;
#[cfg(unix)]
mod context;
mod error;
#[cfg(unix)]
mod gss;
#[cfg(unix)]
mod library;
mod login;
#[cfg(not(unix))]
mod unsupported;

#[cfg(not(unix))]
use unsupported as gss;
#[cfg(not(unix))]
use unsupported as context;

use account::Account;
use cause::{Cause, cause};
use context::Initiator;
use gss::Failure;

pub use error::KerberosError;
pub(super) use login::log_in;

/// An account with its ticket, or with the password to get one.
#[derive(Clone)]
pub struct Identity {
    principal: String,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Cache(Arc<gss::Credential>),
    Password(Arc<LazyTicket>),
}

/// Requested on first use and shared by all connections: a wrong password is tried once.
struct LazyTicket {
    password: Secret,
    credential: Mutex<Option<Arc<gss::Credential>>>,
}

/// Without the password.
impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({})", self.principal)
    }
}

impl Identity {
    /// The valid ticket of an account in the local cache; tickets of other accounts are
    /// ignored.
    pub fn cached(user: &str) -> Result<Self, KerberosError> {
        let account = Account::parse(user);
        let principal_name = account.principal();
        let (credential, principal, seconds) = match inspect_cache(None) {
            Ok(found) if account.matches(&found.1) => found,
            // A collection may have tickets of several accounts, one of which is the
            // default.
            default => inspect_cache(Some(&principal_name)).map_err(|failure| match default {
                Ok((_, other, _)) => KerberosError::NoTicket {
                    user: principal_name.clone(),
                    found: format!("a ticket of `{other}`"),
                },
                Err(_) => kerberos_error(failure, &principal_name, &principal_name),
            })?,
        };
        if seconds == 0 {
            return Err(KerberosError::Expired { principal });
        }
        Ok(Self {
            principal,
            source: Source::Cache(Arc::new(credential)),
        })
    }

    /// Gets a ticket with a password on first use, and keeps it in memory.
    pub fn with_password(user: &str, password: Secret) -> Self {
        Self {
            principal: Account::parse(user).principal(),
            source: Source::Password(Arc::new(LazyTicket {
                password,
                credential: Mutex::default(),
            })),
        }
    }

    fn credential(&self) -> Result<Arc<gss::Credential>, Failure> {
        match &self.source {
            Source::Cache(credential) => Ok(Arc::clone(credential)),
            Source::Password(ticket) => {
                let mut credential = ticket
                    .credential
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                if let Some(credential) = &*credential {
                    return Ok(Arc::clone(credential));
                }
                let new = gss::Credential::with_password(&self.principal, &ticket.password)?;
                Ok(Arc::clone(credential.insert(Arc::new(new))))
            }
        }
    }
}

/// A cached credential, its principal, and its remaining lifetime in seconds.
fn inspect_cache(principal: Option<&str>) -> Result<(gss::Credential, String, u32), Failure> {
    let credential = gss::Credential::cached(principal)?;
    let (principal, seconds) = credential.inquire()?;
    Ok((credential, principal, seconds))
}

#[derive(Debug, Clone)]
pub struct Ticket {
    pub identity: Identity,
    /// The host's name in the domain, such as `win1.shop.example`.
    pub host: String,
    /// The password for NTLM if the domain has no ticket for this host; without a
    /// password, that is an error.
    pub fallback_password: Option<Secret>,
}

/// The first token of a login, and the state to process the response.
pub(super) struct PendingLogin {
    initiator: Initiator,
    token: Vec<u8>,
}

impl Ticket {
    fn service(&self) -> String {
        format!("HTTP/{}", self.host)
    }

    pub(super) async fn start(
        &self,
        binding: Option<Vec<u8>>,
        limit: Duration,
    ) -> Result<PendingLogin, KerberosError> {
        let identity = self.identity.clone();
        let service = format!("HTTP@{}", self.host);
        let start = move || {
            let mut initiator = Initiator::new(identity.credential()?, &service, binding)?;
            let token = initiator.step(&[])?.token;
            Ok(PendingLogin { initiator, token })
        };
        let timed_out = || KerberosError::NoServer {
            service: self.service(),
            reason: format!("timed out after {} s", limit.as_secs()),
        };
        let pending = timeout(limit, run_blocking(start))
            .await
            .map_err(|_| timed_out())?;
        pending
            .map_err(|failure| kerberos_error(failure, &self.identity.principal, &self.service()))
    }
}

/// Runs a call that may block on a domain controller on its own thread. If it times out,
/// the thread does not block the exit of the program.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, result) = oneshot::channel();
    std::thread::spawn(move || {
        // The receiver may be gone.
        drop(sender.send(work()));
    });
    let result = result.await;
    result.unwrap_or_else(|_| {
        Err(Failure::Gss {
            major: 0,
            minor: 0,
            message: "the Kerberos library failed unexpectedly".to_owned(),
        })
    })
}

/// The error for a request of a ticket of `user` for `service`.
fn kerberos_error(failure: Failure, user: &str, service: &str) -> KerberosError {
    let (user, service) = (user.to_owned(), service.to_owned());
    let (major, minor, reason) = match failure {
        Failure::NotInstalled(reason) => return KerberosError::NotInstalled { reason },
        Failure::Gss {
            major,
            minor,
            message,
        } => (major, minor, message),
    };
    match cause(major, minor) {
        Cause::NoTicket => KerberosError::NoTicket {
            user,
            found: reason,
        },
        Cause::Expired => KerberosError::Expired { principal: user },
        Cause::ClockSkew => KerberosError::ClockSkew {
            other: "the domain controller".to_owned(),
            reason,
        },
        Cause::UnknownService => KerberosError::UnknownService { service, reason },
        Cause::NoServer => KerberosError::NoServer { service, reason },
        Cause::AuthenticationFailed => KerberosError::AuthenticationFailed { user, reason },
        Cause::Other => KerberosError::Failed { service, reason },
    }
}
