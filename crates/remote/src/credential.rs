//! With what somebody logs in over SSH.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_resource::Secret;
use russh::keys::{Certificate, PrivateKey, PublicKey};

use crate::error::RemoteError;

/// What shows a host that we are whom we say.
#[derive(Clone)]
pub enum Credential {
    /// A private key, and what a certificate authority says about it.
    Key {
        /// The key, already loaded (see [`crate::load_key`]).
        key: Arc<PrivateKey>,
        /// Its certificate, where there is one.
        certificate: Option<Arc<Certificate>>,
    },
    /// What an SSH agent holds.
    Agent {
        /// Where it listens: `SSH_AUTH_SOCK`.
        socket: PathBuf,
        /// Only this key of it, where one is named.
        only: Option<Arc<PublicKey>>,
    },
    /// A password.
    Password(Secret),
}

/// Secrets are left out.
impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Key { .. } => "Key(…)",
            Self::Agent { .. } => "Agent(…)",
            Self::Password(_) => "Password(…)",
        })
    }
}

impl From<PrivateKey> for Credential {
    fn from(key: PrivateKey) -> Self {
        Arc::new(key).into()
    }
}

impl From<Arc<PrivateKey>> for Credential {
    fn from(key: Arc<PrivateKey>) -> Self {
        Self::Key {
            key,
            certificate: None,
        }
    }
}

/// The certificate that lies beside a key, as OpenSSH names it: `KEY-cert.pub`.
/// One that has run out is an error: a server would only say that it refuses it.
pub fn load_certificate(key: &Path) -> Result<Option<Arc<Certificate>>, RemoteError> {
    let mut path = key.as_os_str().to_owned();
    path.push("-cert.pub");
    let path = PathBuf::from(path);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RemoteError::KeyFile { path, source }),
    };
    let unusable = |reason: String| RemoteError::Certificate {
        path: path.clone(),
        reason,
    };
    let certificate =
        Certificate::from_openssh(&text).map_err(|error| unusable(error.to_string()))?;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let times = |from, to| format!("it is good from {from} to {to}, and now it is {now}");
    let (from, to) = (certificate.valid_after(), certificate.valid_before());
    if now < from || now >= to {
        return Err(unusable(times(from, to)));
    }
    Ok(Some(Arc::new(certificate)))
}
