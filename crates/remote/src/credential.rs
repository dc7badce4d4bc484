//! Credentials for SSH.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_resource::Secret;
use russh::keys::{Certificate, PrivateKey, PublicKey};

use crate::error::{LoginError, RemoteError};

#[derive(Clone)]
pub enum Credential {
    Key {
        /// See [`crate::load_key`].
        key: Arc<PrivateKey>,
        certificate: Option<Arc<Certificate>>,
    },
    Agent {
        /// `SSH_AUTH_SOCK`.
        socket: PathBuf,
        /// The only key to use, if set.
        only: Option<Arc<PublicKey>>,
    },
    Password(Secret),
}

/// Does not show secrets.
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

/// Loads the certificate next to a key, `KEY-cert.pub` as in OpenSSH. An expired one is
/// an error: a server would only reject it without a reason.
pub fn load_certificate(key: &Path) -> Result<Option<Arc<Certificate>>, RemoteError> {
    let mut path = key.as_os_str().to_owned();
    path.push("-cert.pub");
    let path = PathBuf::from(path);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RemoteError::Login(LoginError::KeyFile { path, source })),
    };
    let invalid = |reason: String| {
        RemoteError::Login(LoginError::Certificate {
            path: path.clone(),
            reason,
        })
    };
    let certificate =
        Certificate::from_openssh(&text).map_err(|error| invalid(error.to_string()))?;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let validity = |from, to| format!("valid from {from} to {to}, but now it is {now} (Unix time)");
    let (from, to) = (certificate.valid_after(), certificate.valid_before());
    if now < from || now >= to {
        return Err(invalid(validity(from, to)));
    }
    Ok(Some(Arc::new(certificate)))
}
