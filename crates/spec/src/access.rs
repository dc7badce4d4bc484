//! How hosts are reached. Credentials are named, never held.

use camino::{Utf8Path, Utf8PathBuf};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::{Cluster, Host, defaults};

/// Where a credential is; never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// In this file on the machine that runs casement.
    File(Utf8PathBuf),
    /// In this environment variable.
    Env(String),
    /// A person types it.
    Prompt,
}

impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::File(path) => map.serialize_entry("file", path)?,
            Self::Env(name) => map.serialize_entry("env", name)?,
            Self::Prompt => map.serialize_entry("prompt", &true)?,
        }
        map.end()
    }
}

/// How all hosts are reached, unless a host says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// Over SSH.
    pub ssh: Ssh,
}

/// Login over SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ssh {
    /// The account; `None` where each host's default does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port.
    pub port: u16,
    /// The private key.
    pub key: SecretRef,
    /// The hosts' keys, which are never taken on trust.
    pub known_hosts: Utf8PathBuf,
}

/// What one host says about how it is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostAccess {
    /// Over SSH.
    pub ssh: HostSsh,
}

impl HostAccess {
    /// Whether the host says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Login over SSH: each field stands before the cluster's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSsh {
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<SecretRef>,
    /// The hosts' keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_hosts: Option<Utf8PathBuf>,
}

/// How one host is reached, everything decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The account.
    pub user: &'a str,
    /// The port.
    pub port: u16,
    /// The private key.
    pub key: &'a SecretRef,
    /// The hosts' keys.
    pub known_hosts: &'a Utf8Path,
}

impl Cluster {
    /// How a host is reached: the host's word, then the cluster's, then the
    /// default.
    pub fn login<'a>(&'a self, host: &'a Host) -> Login<'a> {
        let (own, all) = (&host.access.ssh, &self.spec.access.ssh);
        let user = own.user.as_deref().or(all.user.as_deref());
        Login {
            user: user.unwrap_or_else(|| defaults::user(host.os.family())),
            port: own.port.unwrap_or(all.port),
            key: own.key.as_ref().unwrap_or(&all.key),
            known_hosts: own.known_hosts.as_deref().unwrap_or(&all.known_hosts),
        }
    }
}
