//! SSH targets: a host, an account, and the expected host key.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::credential::Credential;
use crate::hop::Hop;

/// How to treat a host key that is not in `known_hosts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostKeyPolicy {
    #[default]
    Strict,
    /// An unknown key is added to `known_hosts`; a *changed* key is still an error.
    AcceptNew,
}

/// A host key that was added to `known_hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    pub host: String,
    /// With the key type.
    pub fingerprint: String,
    pub known_hosts: PathBuf,
}

/// The keys that were added; clones share one list.
#[derive(Debug, Clone, Default)]
pub struct NewKeys(Arc<Mutex<Vec<NewKey>>>);

impl NewKeys {
    pub(crate) fn add(&self, key: NewKey) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(key);
    }

    /// The keys that were added since the last call.
    pub fn take(&self) -> Vec<NewKey> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A host and how to log in there.
#[derive(Clone)]
pub struct Target {
    /// The host's name in the cluster file; for messages only.
    pub name: String,
    /// An IP address or a DNS name; also looked up in `known_hosts`.
    pub address: String,
    pub port: u16,
    pub user: String,
    pub credential: Credential,
    pub known_hosts: PathBuf,
    /// The name to look up in `known_hosts`, if not the address.
    pub host_key_alias: Option<String>,
    pub host_keys: HostKeyPolicy,
    /// Collects the keys that are added.
    pub new_keys: NewKeys,
    /// The bastion, if any.
    pub via: Option<Hop>,
    /// For each of connecting, handshake and authentication.
    pub connect_timeout: Duration,
}

impl Target {
    /// Port 22, strict host keys, timeout of 10 s.
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
            host_key_alias: None,
            host_keys: HostKeyPolicy::Strict,
            new_keys: NewKeys::default(),
            via: None,
            connect_timeout: Duration::from_secs(10),
        }
    }
}

/// Without the credential: targets are logged.
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
