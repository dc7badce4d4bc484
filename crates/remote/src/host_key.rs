//! Verifies the key of an SSH server against `known_hosts`.

use std::borrow::Cow;
use std::io;
use std::io::Write as _;
use std::path::Path;

use russh::keys::{Algorithm, HashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{Preferred, client};

use crate::error::{HostKeyError, HostLabel, RemoteError};
use crate::known_hosts::{KnownHosts, Verdict, key_type};
use crate::target::{HostKeyPolicy, NewKey, Target};

#[derive(Debug)]
pub(crate) enum HandshakeError {
    HostKey(Box<RemoteError>),
    Ssh(russh::Error),
}

impl From<russh::Error> for HandshakeError {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

/// russh's callbacks for one connection.
pub(crate) struct HostKeyVerifier {
    known: KnownHosts,
    host: HostLabel,
    target: Target,
}

impl HostKeyVerifier {
    /// Reads the target's `known_hosts`; a missing file counts as empty.
    pub(crate) fn new(target: &Target, host: HostLabel) -> Result<Self, RemoteError> {
        let path = &target.known_hosts;
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => {
                return Err(RemoteError::HostKey(HostKeyError::KnownHosts {
                    path: path.clone(),
                    source,
                }));
            }
        };
        Ok(Self {
            known: KnownHosts::parse(&text),
            host,
            target: target.clone(),
        })
    }

    /// Recorded key types first, so that the server presents a key that can be compared.
    pub(crate) fn preferred_keys(&self) -> Cow<'static, [Algorithm]> {
        let (name, port) = self.lookup_name();
        let recorded = self.known.algorithms(name, port);
        let recorded: Vec<_> = recorded.iter().map(key_type).collect();
        let all = Preferred::DEFAULT.key;
        let (mut first, rest): (Vec<_>, Vec<_>) = all
            .iter()
            .cloned()
            .partition(|algorithm| recorded.contains(&key_type(algorithm)));
        first.extend(rest);
        Cow::Owned(first)
    }

    /// The name and port to look up. An alias replaces both, as in OpenSSH.
    fn lookup_name(&self) -> (&str, u16) {
        match &self.target.host_key_alias {
            Some(alias) => (alias, 22),
            None => (self.host.address(), self.host.port()),
        }
    }

    fn verify(&self, key: &PublicKey) -> Result<(), RemoteError> {
        let host = self.host.clone();
        let known_hosts = self.target.known_hosts.clone();
        let offered = fingerprint(key);
        let (name, port) = self.lookup_name();
        match self.known.check(name, port, key) {
            Verdict::Known => Ok(()),
            Verdict::Unknown if self.target.host_keys == HostKeyPolicy::AcceptNew => {
                let written = append(&known_hosts, (name, port), key);
                written.map_err(|source| {
                    RemoteError::HostKey(HostKeyError::KnownHosts {
                        path: known_hosts.clone(),
                        source,
                    })
                })?;
                self.target.new_keys.add(NewKey {
                    host: host.name().to_owned(),
                    fingerprint: offered,
                    known_hosts,
                });
                Ok(())
            }
            Verdict::Unknown => Err(RemoteError::HostKey(HostKeyError::Unknown {
                host,
                offered,
                known_hosts,
            })),
            Verdict::Changed { line, recorded } => {
                Err(RemoteError::HostKey(HostKeyError::Changed {
                    host,
                    offered,
                    recorded: fingerprint(&recorded),
                    known_hosts,
                    line,
                }))
            }
            Verdict::Revoked { line } => Err(RemoteError::HostKey(HostKeyError::Revoked {
                host,
                offered,
                known_hosts,
                line,
            })),
        }
    }
}

impl client::Handler for HostKeyVerifier {
    type Error = HandshakeError;

    async fn check_server_key(
        &mut self,
        presented: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = presented else {
            return Ok(false);
        };
        match self.verify(key) {
            Ok(()) => Ok(true),
            Err(error) => Err(HandshakeError::HostKey(Box::new(error))),
        }
    }
}

/// `SHA256:… (ED25519)`, as `ssh-keygen -l` prints it.
pub(crate) fn fingerprint(key: &PublicKey) -> String {
    let key_type = match key.algorithm() {
        Algorithm::Ed25519 => "ED25519".to_owned(),
        Algorithm::Rsa { .. } => "RSA".to_owned(),
        Algorithm::Ecdsa { .. } => "ECDSA".to_owned(),
        other => other.to_string(),
    };
    format!("{} ({key_type})", key.fingerprint(HashAlg::Sha256))
}

/// Appends a line, after a line break if the last line has none.
fn append(path: &Path, (name, port): (&str, u16), key: &PublicKey) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let name = match port {
        22 => name.to_owned(),
        port => format!("[{name}]:{port}"),
    };
    let text = key.to_openssh().map_err(io::Error::other)?;
    let text = text.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let incomplete = match std::fs::read(path) {
        Ok(bytes) => bytes.last().is_some_and(|last| *last != b'\n'),
        Err(_) => false,
    };
    let start = if incomplete { "\n" } else { "" };
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    file.write_all(format!("{start}{name} {text}\n").as_bytes())
}
