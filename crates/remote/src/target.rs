//! Whom to speak to, as whom, and what is known about the host beforehand.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::PrivateKey;

/// What to do with a host key that `known_hosts` has no line for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostKeyPolicy {
    /// An unknown key is an error.
    #[default]
    Strict,
    /// An unknown key is written to `known_hosts`; a *changed* one stays an error.
    AcceptNew,
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
    /// The private key, already loaded (see [`crate::load_key`]).
    pub key: Arc<PrivateKey>,
    /// The `known_hosts` file.
    pub known_hosts: PathBuf,
    /// What to do with an unknown host key.
    pub host_keys: HostKeyPolicy,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
}

impl Target {
    /// A target on port 22, strict about host keys, with a time-out of 10 s.
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        user: impl Into<String>,
        key: PrivateKey,
        known_hosts: PathBuf,
    ) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            port: 22,
            user: user.into(),
            key: Arc::new(key),
            known_hosts,
            host_keys: HostKeyPolicy::Strict,
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
