//! Loads SSH keys from files.

use std::io;
use std::path::Path;

use casement_resource::Secret;
use russh::keys::{PrivateKey, PublicKey, decode_secret_key};

use crate::error::LoginError;

/// Loads an unencrypted private key in OpenSSH's format, PKCS#8 or PKCS#1.
pub fn load_key(path: &Path) -> Result<PrivateKey, LoginError> {
    decode_key(&read(path)?, path)
}

/// Like [`load_key`], from text; `path` is for messages only.
pub fn decode_key(text: &str, path: &Path) -> Result<PrivateKey, LoginError> {
    let invalid = |reason: String| LoginError::InvalidKey {
        path: path.to_owned(),
        reason,
    };
    if is_public(text) {
        return Err(invalid("it is a public key".to_owned()));
    }
    let encrypted = || LoginError::KeyEncrypted {
        path: path.to_owned(),
    };
    match decode_secret_key(text, None) {
        Ok(key) if key.is_encrypted() => Err(encrypted()),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(encrypted()),
        Err(_) if text.contains("ENCRYPTED") => Err(encrypted()),
        Err(error) => Err(invalid(error.to_string())),
    }
}

/// Loads a private key; the passphrase is ignored if the key is not encrypted.
pub fn load_encrypted_key(path: &Path, passphrase: &Secret) -> Result<PrivateKey, LoginError> {
    let text = read(path)?;
    match decode_key(&text, path) {
        Err(LoginError::KeyEncrypted { .. }) => {}
        other => return other,
    }
    match decode_secret_key(&text, Some(passphrase.expose())) {
        Ok(key) if !key.is_encrypted() => Ok(key),
        _ => Err(LoginError::WrongPassphrase {
            path: path.to_owned(),
        }),
    }
}

pub fn is_encrypted(path: &Path) -> bool {
    matches!(load_key(path), Err(LoginError::KeyEncrypted { .. }))
}

/// The public key in the file itself or in `PATH.pub`, if any.
pub fn load_public_key(path: &Path) -> Option<PublicKey> {
    let mut public_path = path.as_os_str().to_owned();
    public_path.push(".pub");
    let texts = [path, Path::new(&public_path)].map(std::fs::read_to_string);
    let mut texts = texts.into_iter().flatten().filter(|text| is_public(text));
    texts.find_map(|text| PublicKey::from_openssh(text.trim()).ok())
}

fn is_public(text: &str) -> bool {
    let text = text.trim_start();
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn read(path: &Path) -> Result<String, LoginError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => LoginError::InvalidKey {
            path: path.to_owned(),
            reason: "it is not text".to_owned(),
        },
        _ => LoginError::KeyFile {
            path: path.to_owned(),
            source,
        },
    })
}
