//! Reads a private key from its file.

use std::io;
use std::path::Path;

use russh::keys::{PrivateKey, decode_secret_key};

use crate::error::RemoteError;

/// Loads a private key without a passphrase.
///
/// OpenSSH's own format, PKCS#8 and PKCS#1 are read.
pub fn load_key(path: &Path) -> Result<PrivateKey, RemoteError> {
    let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => RemoteError::KeyUnreadable {
            path: path.to_owned(),
            reason: "it is not text".to_owned(),
        },
        _ => RemoteError::KeyFile {
            path: path.to_owned(),
            source,
        },
    })?;
    let unreadable = |reason: String| RemoteError::KeyUnreadable {
        path: path.to_owned(),
        reason,
    };
    if text.trim_start().starts_with("ssh-") || text.trim_start().starts_with("ecdsa-") {
        return Err(unreadable("it is the public half".to_owned()));
    }
    match decode_secret_key(&text, None) {
        Ok(key) if key.is_encrypted() => Err(RemoteError::KeyEncrypted {
            path: path.to_owned(),
        }),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(RemoteError::KeyEncrypted {
            path: path.to_owned(),
        }),
        Err(_) if text.contains("ENCRYPTED") => Err(RemoteError::KeyEncrypted {
            path: path.to_owned(),
        }),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
