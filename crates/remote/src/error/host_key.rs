//! Errors of the host's SSH key.

use std::io;
use std::path::{Path, PathBuf};

use casement_diag::Problem;

use super::HostLabel;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostKeyError {
    /// `known_hosts` has no line for this host.
    #[error("the host key of {host} is unknown")]
    Unknown {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        known_hosts: PathBuf,
    },
    /// `known_hosts` has another key for this host.
    #[error("the host key of {host} has changed")]
    Changed {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        /// The fingerprint in `known_hosts`.
        recorded: String,
        known_hosts: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// `known_hosts` marks the presented key as revoked.
    #[error("the host key of {host} is revoked")]
    Revoked {
        host: HostLabel,
        /// The fingerprint that the host presents, with its type.
        offered: String,
        known_hosts: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The file exists but cannot be read, or a new key cannot be added to it.
    #[error("failed to access the known hosts file `{}`", path.display())]
    KnownHosts { path: PathBuf, source: io::Error },
}

impl HostKeyError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::Unknown {
                host,
                offered,
                known_hosts,
            } => Problem::new(
                "CAS-SSH-001",
                what,
                format!(
                    "Compare the fingerprint with the one on the host itself (`ssh-keygen -lf` on \
                     its ssh_host_*_key.pub). If they match, run `ssh-keyscan -p {} {} >> {}`",
                    host.port(),
                    host.address(),
                    known_hosts.display()
                ),
            )
            .detail("host presents", offered)
            .detail("not in", known_hosts.display()),
            Self::Changed {
                host,
                offered,
                recorded,
                known_hosts,
                line,
            } => Problem::new(
                "CAS-SSH-002",
                what,
                format!(
                    "Either the host was rebuilt or someone is intercepting the connection. If it \
                     was rebuilt, run `ssh-keygen -f {} -R {}`, compare the new fingerprint with \
                     the one on the host, and add it with `ssh-keyscan`.",
                    known_hosts.display(),
                    known_hosts_name(host.address(), host.port())
                ),
            )
            .detail(format!("{}:{line}", file_name(known_hosts)), recorded)
            .detail("host presents", offered),
            Self::Revoked {
                offered,
                known_hosts,
                line,
                ..
            } => Problem::new(
                "CAS-SSH-008",
                what,
                "This key must not be trusted. Generate a new host key on the host, or find out \
                 why the key was revoked.",
            )
            .detail("host presents", offered)
            .detail("revoked in", format!("{}:{line}", known_hosts.display())),
            Self::KnownHosts { source, .. } => Problem::new(
                "CAS-SSH-009",
                what,
                "Fix the permissions of the file, or set another file in `access.ssh.knownHosts`.",
            )
            .detail("reason", source),
        }
    }
}

/// The last component, for labels such as `known_hosts:14`.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The name under which `ssh-keygen -R` finds a host.
fn known_hosts_name(address: &str, port: u16) -> String {
    match port {
        22 => address.to_owned(),
        _ => format!("'[{address}]:{port}'"),
    }
}
