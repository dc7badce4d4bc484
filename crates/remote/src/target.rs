//! Whom to speak to, as whom, and what is known about the host beforehand.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::credential::Credential;
use crate::hop::Hop;

/// What to do with a host key that `known_hosts` has no line for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostKeyPolicy {
    /// An unknown key is an error.
    #[default]
    Strict,
    /// An unknown key is written to `known_hosts`; a *changed* one stays an error.
    AcceptNew,
}

/// A host key that was not known, and is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The host's name in the user's file.
    pub host: String,
    /// The key's fingerprint, with its type.
    pub fingerprint: String,
    /// Where it was written down.
    pub known_hosts: PathBuf,
}

/// The keys that were written down; clones share one list.
#[derive(Debug, Clone, Default)]
pub struct NewKeys(Arc<Mutex<Vec<NewKey>>>);

impl NewKeys {
    pub(crate) fn add(&self, key: NewKey) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(key);
    }

    /// Those that came since this was asked last.
    pub fn take(&self) -> Vec<NewKey> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One host, and how to log in there.
#[derive(Clone)]
pub struct Target {
    /// The host's name in the user's file; used in messages only.
    pub name: String,
    /// An IP address or a DNS name; also what `known_hosts` is asked for.
    pub address: String,
    /// The port of the SSH server.
    pub port: u16,
    /// The account to log in as.
    pub user: String,
    /// With what.
    pub credential: Credential,
    /// The `known_hosts` file.
    pub known_hosts: PathBuf,
    /// The name under which `known_hosts` has it, if that is another one.
    pub known_as: Option<String>,
    /// What to do with an unknown host key.
    pub host_keys: HostKeyPolicy,
    /// Hears of keys that were written down.
    pub new_keys: NewKeys,
    /// The host on the way to it, where it cannot be reached directly.
    pub via: Option<Hop>,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
}

impl Target {
    /// A target on port 22, strict about host keys, with a time-out of 10 s.
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        user: impl Into<String>,
        credential: impl Into<Credential>,
        known_hosts: PathBuf,
    ) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            port: 22,
            user: user.into(),
            credential: credential.into(),
            known_hosts,
            known_as: None,
            host_keys: HostKeyPolicy::Strict,
            new_keys: NewKeys::default(),
            via: None,
            connect_timeout: Duration::from_secs(10),
        }
    }
}

/// The key is left out: a target ends up in logs.
impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Target")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("port", &self.port)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
