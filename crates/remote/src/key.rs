//! Reads keys from files.

use std::io;
use std::path::Path;

use casement_resource::Secret;
use russh::keys::{PrivateKey, PublicKey, decode_secret_key};

use crate::error::RemoteError;

/// Loads a private key without a passphrase.
///
/// OpenSSH's own format, PKCS#8 and PKCS#1 are read.
pub fn load_key(path: &Path) -> Result<PrivateKey, RemoteError> {
    decode_key(&read(path)?, path)
}

/// The same from text that came from elsewhere; `path` is where, for messages.
pub fn decode_key(text: &str, path: &Path) -> Result<PrivateKey, RemoteError> {
    let unreadable = |reason: String| RemoteError::KeyUnreadable {
        path: path.to_owned(),
        reason,
    };
    if is_public(text) {
        return Err(unreadable("it is the public half".to_owned()));
    }
    let locked = || RemoteError::KeyEncrypted {
        path: path.to_owned(),
    };
    match decode_secret_key(text, None) {
        Ok(key) if key.is_encrypted() => Err(locked()),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(locked()),
        Err(_) if text.contains("ENCRYPTED") => Err(locked()),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

/// Loads a private key that a passphrase opens; one without a passphrase is
/// opened by any.
pub fn load_locked_key(path: &Path, passphrase: &Secret) -> Result<PrivateKey, RemoteError> {
    let text = read(path)?;
    match decode_key(&text, path) {
        Err(RemoteError::KeyEncrypted { .. }) => {}
        other => return other,
    }
    match decode_secret_key(&text, Some(passphrase.expose())) {
        Ok(key) if !key.is_encrypted() => Ok(key),
        _ => Err(RemoteError::WrongPassphrase {
            path: path.to_owned(),
        }),
    }
}

/// Whether a key needs a passphrase.
pub fn is_locked(path: &Path) -> bool {
    matches!(load_key(path), Err(RemoteError::KeyEncrypted { .. }))
}

/// The public half of a key: the file itself where it is one, else the one that
/// lies beside it. None if there is none.
pub fn load_public_key(path: &Path) -> Option<PublicKey> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    let texts = [path, Path::new(&beside)].map(std::fs::read_to_string);
    let mut texts = texts.into_iter().flatten().filter(|text| is_public(text));
    texts.find_map(|text| PublicKey::from_openssh(text.trim()).ok())
}

fn is_public(text: &str) -> bool {
    let text = text.trim_start();
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn read(path: &Path) -> Result<String, RemoteError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => RemoteError::KeyUnreadable {
            path: path.to_owned(),
            reason: "it is not text".to_owned(),
        },
        _ => RemoteError::KeyFile {
            path: path.to_owned(),
            source,
        },
    })
}
