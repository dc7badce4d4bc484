//! Judges the key that a server shows, against `known_hosts`.

use std::borrow::Cow;
use std::io;
use std::io::Write as _;
use std::path::Path;

use russh::keys::{Algorithm, HashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{Preferred, client};

use crate::error::{Place, RemoteError};
use crate::known_hosts::{KnownHosts, Verdict, kind};
use crate::target::{HostKeyPolicy, NewKey, Target};

/// Why the handshake ended.
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

/// The side of the connection that russh calls.
pub(crate) struct HostKeyJudge {
    known: KnownHosts,
    place: Place,
    target: Target,
}

impl HostKeyJudge {
    /// Reads the target's `known_hosts`; a file that is not there is an empty one.
    pub(crate) fn new(target: &Target, place: Place) -> Result<Self, RemoteError> {
        let path = &target.known_hosts;
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => {
                return Err(RemoteError::KnownHosts {
                    path: path.clone(),
                    source,
                });
            }
        };
        Ok(Self {
            known: KnownHosts::parse(&text),
            place,
            target: target.clone(),
        })
    }

    /// The order in which types of keys are asked for: recorded ones first.
    pub(crate) fn preferred_keys(&self) -> Cow<'static, [Algorithm]> {
        let (name, port) = self.known_as();
        let recorded = self.known.algorithms(name, port);
        let recorded: Vec<_> = recorded.iter().map(kind).collect();
        let all = Preferred::DEFAULT.key;
        let (mut first, rest): (Vec<_>, Vec<_>) = all
            .iter()
            .cloned()
            .partition(|algorithm| recorded.contains(&kind(algorithm)));
        first.extend(rest);
        Cow::Owned(first)
    }

    /// The name and port under which the file has the host. An alias stands for
    /// both, as in OpenSSH.
    fn known_as(&self) -> (&str, u16) {
        match &self.target.known_as {
            Some(alias) => (alias, 22),
            None => (self.place.address(), self.place.port()),
        }
    }

    fn judge(&self, key: &PublicKey) -> Result<(), RemoteError> {
        let place = self.place.clone();
        let known_hosts = self.target.known_hosts.clone();
        let offered = fingerprint(key);
        let (name, port) = self.known_as();
        match self.known.check(name, port, key) {
            Verdict::Known => Ok(()),
            Verdict::Unknown if self.target.host_keys == HostKeyPolicy::AcceptNew => {
                let written = record(&known_hosts, (name, port), key);
                written.map_err(|source| RemoteError::KnownHosts {
                    path: known_hosts.clone(),
                    source,
                })?;
                self.target.new_keys.add(NewKey {
                    host: place.name().to_owned(),
                    fingerprint: offered,
                    known_hosts,
                });
                Ok(())
            }
            Verdict::Unknown => Err(RemoteError::HostKeyUnknown {
                place,
                offered,
                known_hosts,
            }),
            Verdict::Changed { line, recorded } => Err(RemoteError::HostKeyChanged {
                place,
                offered,
                recorded: fingerprint(&recorded),
                known_hosts,
                line,
            }),
            Verdict::Revoked { line } => Err(RemoteError::HostKeyRevoked {
                place,
                offered,
                known_hosts,
                line,
            }),
        }
    }
}

impl client::Handler for HostKeyJudge {
    type Error = HandshakeError;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            return Ok(false);
        };
        match self.judge(key) {
            Ok(()) => Ok(true),
            Err(error) => Err(HandshakeError::HostKey(Box::new(error))),
        }
    }
}

/// `SHA256:… (ED25519)`, as `ssh-keygen -l` prints it.
pub(crate) fn fingerprint(key: &PublicKey) -> String {
    let kind = match key.algorithm() {
        Algorithm::Ed25519 => "ED25519".to_owned(),
        Algorithm::Rsa { .. } => "RSA".to_owned(),
        Algorithm::Ecdsa { .. } => "ECDSA".to_owned(),
        other => other.to_string(),
    };
    format!("{} ({kind})", key.fingerprint(HashAlg::Sha256))
}

/// Adds a line; a last line without an end gets one first.
fn record(path: &Path, (name, port): (&str, u16), key: &PublicKey) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let name = match port {
        22 => name.to_owned(),
        port => format!("[{name}]:{port}"),
    };
    let text = key.to_openssh().map_err(io::Error::other)?;
    let text = text.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let unfinished = match std::fs::read(path) {
        Ok(bytes) => bytes.last().is_some_and(|last| *last != b'\n'),
        Err(_) => false,
    };
    let start = if unfinished { "\n" } else { "" };
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    file.write_all(format!("{start}{name} {text}\n").as_bytes())
}
