//! Kerberos: a login with a ticket, which needs no password and no NTLM.
//!
//! Tickets, their cache and their encryption are MIT's library's, which knows where
//! a machine keeps them and how it finds a domain controller. It is loaded when a
//! login asks for a ticket: casement neither builds against it nor needs it to run.
//! Nothing is delegated: a host learns who comes, and gets nothing to go on with.
//!
//! The token goes as `Negotiate`, not wrapped into SPNEGO, and messages are laid out
//! as NTLM's are: so does pywinrm, which has met many Windows hosts.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use casement_resource::Secret;
use tokio::sync::oneshot;
use tokio::time::timeout;

#[cfg(not(unix))]
#[path = "kerberos/unsupported.rs"]
mod absent;
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
use absent as gss;
#[cfg(not(unix))]
use absent as context;

use account::Account;
use cause::{Cause, cause};
use context::Initiator;
use gss::Failure;

pub use error::KerberosError;
pub(super) use login::log_in;

/// Who logs in: an account's ticket, or what one is fetched with.
#[derive(Clone)]
pub struct Identity {
    principal: String,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Cache(Arc<gss::Credential>),
    Password(Arc<Bought>),
}

/// Fetched when it is first needed, for all connections: a wrong password is tried
/// once.
struct Bought {
    password: Secret,
    held: Mutex<Option<Arc<gss::Credential>>>,
}

/// The password is left out.
impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({})", self.principal)
    }
}

impl Identity {
    /// The ticket of an account in this machine's cache, if it is good. A ticket of
    /// somebody else is none.
    pub fn cached(user: &str) -> Result<Self, KerberosError> {
        let account = Account::read(user);
        let wanted = account.principal();
        let (held, principal, seconds) = match look(None) {
            Ok(found) if account.is(&found.1) => found,
            // There are caches for several accounts, of which one is the usual one.
            usual => look(Some(&wanted)).map_err(|failure| match usual {
                Ok((_, other, _)) => KerberosError::NoTicket {
                    user: wanted.clone(),
                    found: format!("one of `{other}`"),
                },
                Err(_) => told(failure, &wanted, &wanted),
            })?,
        };
        if seconds == 0 {
            return Err(KerberosError::Expired { principal });
        }
        Ok(Self {
            principal,
            source: Source::Cache(Arc::new(held)),
        })
    }

    /// A ticket that is fetched with a password when it is needed. It stays in
    /// memory.
    pub fn with_password(user: &str, password: Secret) -> Self {
        Self {
            principal: Account::read(user).principal(),
            source: Source::Password(Arc::new(Bought {
                password,
                held: Mutex::default(),
            })),
        }
    }

    fn held(&self) -> Result<Arc<gss::Credential>, Failure> {
        match &self.source {
            Source::Cache(held) => Ok(Arc::clone(held)),
            Source::Password(bought) => {
                let mut held = bought.held.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(held) = &*held {
                    return Ok(Arc::clone(held));
                }
                let made = gss::Credential::with_password(&self.principal, &bought.password)?;
                Ok(Arc::clone(held.insert(Arc::new(made))))
            }
        }
    }
}

/// What is in the cache, whose it is, and for how many seconds it is good.
fn look(principal: Option<&str>) -> Result<(gss::Credential, String, u32), Failure> {
    let held = gss::Credential::cached(principal)?;
    let (principal, seconds) = held.about()?;
    Ok((held, principal, seconds))
}

/// A login with Kerberos.
#[derive(Debug, Clone)]
pub struct Ticket {
    /// Whose it is.
    pub identity: Identity,
    /// The host's name in the domain, such as `win1.shop.example`.
    pub host: String,
    /// The password for NTLM where the domain has no ticket for that host; without
    /// one, that is an error.
    pub otherwise: Option<Secret>,
}

/// A login that has begun: the first token, and what the answer is for.
pub(super) struct Begun {
    initiator: Initiator,
    token: Vec<u8>,
}

impl Ticket {
    /// As people name it.
    fn service(&self) -> String {
        format!("HTTP/{}", self.host)
    }

    /// Gets a ticket for the host, and makes the first token of a login with it.
    pub(super) async fn begin(
        &self,
        binding: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Begun, KerberosError> {
        let identity = self.identity.clone();
        let service = format!("HTTP@{}", self.host);
        let begin = move || {
            let mut initiator = Initiator::new(identity.held()?, &service, binding)?;
            let token = initiator.step(&[])?.token;
            Ok(Begun { initiator, token })
        };
        let late = || KerberosError::NoServer {
            service: self.service(),
            reason: format!("nothing within {} s", patience.as_secs()),
        };
        let begun = timeout(patience, aside(begin)).await.map_err(|_| late())?;
        begun.map_err(|failure| told(failure, &self.identity.principal, &self.service()))
    }
}

/// Runs what may wait for a domain controller on a thread of its own. One that waits
/// for longer than anybody listens holds nothing up, not even the end of the program.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, done) = oneshot::channel();
    std::thread::spawn(move || {
        // Nobody listens any more: nobody is to be told.
        drop(sender.send(work()));
    });
    let done = done.await;
    done.unwrap_or_else(|_| {
        Err(Failure::Said {
            major: 0,
            minor: 0,
            words: "the library ended its thread".to_owned(),
        })
    })
}

/// What happened, to a person who wanted a ticket of `user` for `service`.
fn told(failure: Failure, user: &str, service: &str) -> KerberosError {
    let (user, service) = (user.to_owned(), service.to_owned());
    let (major, minor, reason) = match failure {
        Failure::Absent(reason) => return KerberosError::Absent { reason },
        Failure::Said {
            major,
            minor,
            words,
        } => (major, minor, words),
    };
    match cause(major, minor) {
        Cause::NoTicket => KerberosError::NoTicket {
            user,
            found: reason,
        },
        Cause::Expired => KerberosError::Expired { principal: user },
        Cause::Skew => KerberosError::ClockSkew {
            other: "the domain controller".to_owned(),
            reason,
        },
        Cause::UnknownService => KerberosError::UnknownService { service, reason },
        Cause::NoServer => KerberosError::NoServer { service, reason },
        Cause::Refused => KerberosError::Refused { user, reason },
        Cause::Other => KerberosError::Failed { service, reason },
    }
}
