//! Login over SSH.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::text::checked_text;
use crate::{SecretRef, defaults};

/// What a login is proved with: a key or a password, never both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SshCredential {
    /// A private key.
    Key {
        /// The key itself.
        key: SecretRef,
        /// What opens it, where it is locked.
        #[serde(skip_serializing_if = "Option::is_none")]
        passphrase: Option<SecretRef>,
    },
    /// A password.
    Password {
        /// The password.
        password: SecretRef,
    },
}

impl SshCredential {
    /// A key that nothing locks.
    pub fn key(key: SecretRef) -> Self {
        Self::Key {
            key,
            passphrase: None,
        }
    }

    /// Its secrets, each with the field that names it.
    pub(crate) fn secrets_mut(&mut self) -> Vec<(&'static str, &mut SecretRef)> {
        match self {
            Self::Key { key, passphrase } => {
                let mut secrets = vec![("key", key)];
                secrets.extend(passphrase.as_mut().map(|secret| ("passphrase", secret)));
                secrets
            }
            Self::Password { password } => vec![("password", password)],
        }
    }
}

/// How one becomes root on a Linux host where that takes a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sudo {
    /// What sudo asks for.
    pub password: SecretRef,
}

/// Login over SSH, for all hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ssh {
    /// The account; `None` where each host's default does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port.
    pub port: u16,
    /// What the login is proved with.
    #[serde(flatten)]
    pub credential: SshCredential,
    /// The hosts' keys, which are never taken on trust.
    pub known_hosts: Utf8PathBuf,
    /// How one becomes root; `None` where sudo asks for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo: Option<Sudo>,
}

impl Default for Ssh {
    fn default() -> Self {
        Self {
            user: None,
            port: defaults::ssh_port(),
            credential: SshCredential::key(defaults::ssh_key()),
            known_hosts: defaults::known_hosts(),
            sudo: None,
        }
    }
}

checked_text! {
    /// The name of a host in OpenSSH's configuration, or in DNS.
    pub struct SshName("name of a host for SSH", name_fault);
}

/// It becomes an argument of `ssh`, and nothing else than a name.
fn name_fault(text: &str) -> Option<String> {
    if text.is_empty() || text.len() > 253 {
        return Some(format!(
            "it has {} characters, 1 to 253 are allowed",
            text.len()
        ));
    }
    if text.starts_with('-') {
        return Some("it begins with `-`".to_owned());
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let odd = text.chars().find(|c| !fine(*c))?;
    Some(format!(
        "{odd:?} is in it: letters, digits, `.`, `_` and `-` are allowed"
    ))
}

/// Login over SSH to one host: each field stands before the cluster's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSsh {
    /// Its name for SSH, where that is not its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<SshName>,
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// What the login is proved with.
    #[serde(flatten)]
    pub credential: Option<SshCredential>,
    /// The hosts' keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_hosts: Option<Utf8PathBuf>,
    /// How one becomes root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo: Option<Sudo>,
}

impl HostSsh {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
