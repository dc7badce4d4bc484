//! How casement connects to hosts.

use std::borrow::Cow;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, Serializer};

use crate::{
    Cluster, Host, HostAddress, HostSsh, HostWinRm, Ssh, SshCredential, Sudo, WinRm, defaults,
};

/// Connection settings for all hosts; a host may override them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    pub ssh: Ssh,
    /// For Windows hosts; `None` if they use SSH too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winrm: Option<WinRm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bastion: Option<Bastion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bastion {
    pub address: HostAddress,
    /// `None`: taken from the OpenSSH configuration, else the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub port: u16,
    #[serde(flatten)]
    pub credential: SshCredential,
    pub known_hosts: Utf8PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostBastion {
    /// Connect directly even if the cluster has a bastion.
    None,
    Through(Box<Bastion>),
}

impl Serialize for HostBastion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Through(bastion) => bastion.serialize(serializer),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostAccess {
    #[serde(skip_serializing_if = "HostSsh::is_empty")]
    pub ssh: HostSsh,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winrm: Option<HostWinRm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bastion: Option<HostBastion>,
}

impl HostAccess {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The effective SSH settings of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    pub user: &'a str,
    pub port: u16,
    pub credential: &'a SshCredential,
    pub known_hosts: &'a Utf8Path,
    pub sudo: Option<&'a Sudo>,
}

/// The effective connection method of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessMethod<'a> {
    Ssh(Login<'a>),
    WinRm(Cow<'a, WinRm>),
}

impl Cluster {
    /// Host settings override those of the cluster, which override the defaults.
    pub fn login<'a>(&'a self, host: &'a Host) -> Login<'a> {
        let (own, all) = (&host.access.ssh, &self.spec.access.ssh);
        let user = own.user.as_deref().or(all.user.as_deref());
        Login {
            user: user.unwrap_or_else(|| defaults::user(host.os.family())),
            port: own.port.unwrap_or(all.port),
            credential: own.credential.as_ref().unwrap_or(&all.credential),
            known_hosts: own.known_hosts.as_deref().unwrap_or(&all.known_hosts),
            sudo: own.sudo.as_ref().or(all.sudo.as_ref()),
        }
    }

    /// WinRM is used for Windows hosts if the host, or else the cluster, configures
    /// it. A host that only sets `access.ssh` uses SSH.
    pub fn access_method<'a>(&'a self, host: &'a Host) -> AccessMethod<'a> {
        let all = self.spec.access.winrm.as_ref();
        match (&host.access.winrm, all) {
            (Some(own), all) if host.os.is_windows() => {
                AccessMethod::WinRm(Cow::Owned(own.merged_with(all)))
            }
            (None, Some(all)) if host.os.is_windows() && host.access.ssh.is_empty() => {
                AccessMethod::WinRm(Cow::Borrowed(all))
            }
            _ => AccessMethod::Ssh(self.login(host)),
        }
    }

    pub fn bastion<'a>(&'a self, host: &'a Host) -> Option<&'a Bastion> {
        match &host.access.bastion {
            Some(HostBastion::None) => None,
            Some(HostBastion::Through(bastion)) => Some(bastion),
            None => self.spec.access.bastion.as_ref(),
        }
    }
}
