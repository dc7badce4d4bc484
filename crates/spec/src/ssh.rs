//! SSH settings.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::text::checked_text;
use crate::{SecretRef, defaults};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SshCredential {
    Key {
        key: SecretRef,
        #[serde(skip_serializing_if = "Option::is_none")]
        passphrase: Option<SecretRef>,
    },
    Password {
        password: SecretRef,
    },
}

impl SshCredential {
    pub fn key(key: SecretRef) -> Self {
        Self::Key {
            key,
            passphrase: None,
        }
    }

    /// With the name of each field.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sudo {
    pub password: SecretRef,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ssh {
    /// `None`: the default of each operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub port: u16,
    #[serde(flatten)]
    pub credential: SshCredential,
    /// Unknown host keys are never accepted automatically.
    pub known_hosts: Utf8PathBuf,
    /// `None` if sudo needs no password.
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
    /// A host in the OpenSSH configuration or in DNS.
    pub struct SshName("SSH host name", name_error);
}

/// The name becomes an argument of `ssh` and must not look like an option.
fn name_error(text: &str) -> Option<String> {
    if text.is_empty() || text.len() > 253 {
        return Some(format!(
            "it has {} characters, expected 1 to 253",
            text.len()
        ));
    }
    if text.starts_with('-') {
        return Some("it must not start with `-`".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let other = text.chars().find(|c| !allowed(*c))?;
    Some(format!(
        "{other:?} is not allowed, only letters, digits, `.`, `_` and `-`"
    ))
}

/// SSH settings of one host; each field overrides that of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSsh {
    /// `None`: the address of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<SshName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    #[serde(flatten)]
    pub credential: Option<SshCredential>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_hosts: Option<Utf8PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo: Option<Sudo>,
}

impl HostSsh {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
