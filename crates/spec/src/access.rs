//! How hosts are reached.

use std::borrow::Cow;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, Serializer};

use crate::{
    Cluster, Host, HostAddress, HostSsh, HostWinRm, Ssh, SshCredential, Sudo, WinRm, defaults,
};

/// How all hosts are reached, unless a host says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// Over SSH.
    pub ssh: Ssh,
    /// Over WinRM, for the Windows hosts; `None` where SSH serves them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winrm: Option<WinRm>,
    /// The host through which all others are reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bastion: Option<Bastion>,
}

/// A host that stands between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bastion {
    /// Where it is.
    pub address: HostAddress,
    /// The account; `None` where OpenSSH's configuration or the default says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port.
    pub port: u16,
    /// What the login is proved with.
    #[serde(flatten)]
    pub credential: SshCredential,
    /// Its key, which is never taken on trust.
    pub known_hosts: Utf8PathBuf,
}

/// What one host says about what stands between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostBastion {
    /// Nothing does, although the cluster has a bastion.
    None,
    /// This one does.
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

/// What one host says about how it is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostAccess {
    /// Over SSH.
    #[serde(skip_serializing_if = "HostSsh::is_empty")]
    pub ssh: HostSsh,
    /// Over WinRM; for Windows only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winrm: Option<HostWinRm>,
    /// What stands between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bastion: Option<HostBastion>,
}

impl HostAccess {
    /// Whether the host says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How one host is reached over SSH, everything decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The account.
    pub user: &'a str,
    /// The port.
    pub port: u16,
    /// What the login is proved with.
    pub credential: &'a SshCredential,
    /// The hosts' keys.
    pub known_hosts: &'a Utf8Path,
    /// How one becomes root.
    pub sudo: Option<&'a Sudo>,
}

/// By what means one host is reached, everything decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way<'a> {
    /// Over SSH.
    Ssh(Login<'a>),
    /// Over WinRM.
    WinRm(Cow<'a, WinRm>),
}

impl Cluster {
    /// How a host is reached over SSH: the host's word, then the cluster's, then
    /// the default.
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

    /// By what means a host is reached. WinRM serves Windows hosts where the
    /// host, or else the cluster, names it; a host that has words of its own on
    /// SSH only is reached over SSH.
    pub fn way<'a>(&'a self, host: &'a Host) -> Way<'a> {
        let all = self.spec.access.winrm.as_ref();
        match (&host.access.winrm, all) {
            (Some(own), all) if host.os.is_windows() => Way::WinRm(Cow::Owned(own.over(all))),
            (None, Some(all)) if host.os.is_windows() && host.access.ssh.is_empty() => {
                Way::WinRm(Cow::Borrowed(all))
            }
            _ => Way::Ssh(self.login(host)),
        }
    }

    /// What stands between casement and a host.
    pub fn bastion<'a>(&'a self, host: &'a Host) -> Option<&'a Bastion> {
        match &host.access.bastion {
            Some(HostBastion::None) => None,
            Some(HostBastion::Through(bastion)) => Some(bastion),
            None => self.spec.access.bastion.as_ref(),
        }
    }
}
