//! Hashes and keys of NTLM version 2 (MS-NLMP 3.3.2, 3.4).
//!
//! The protocol requires MD4, MD5 and RC4. Over HTTPS, TLS protects the messages; over
//! HTTP, only these do.

use casement_resource::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md4::Md4;
use md5::{Digest as _, Md5};
use rc4::{Rc4, StreamCipher as _};

/// All hashes and keys here have this length.
pub(crate) type Key = [u8; 16];

pub(crate) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub(crate) fn md5(parts: &[&[u8]]) -> Key {
    let mut hasher = Md5::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

pub(crate) fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> Key {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("HMAC takes keys of every length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// `NTOWFv2`.
pub(crate) fn account_key(password: &Secret, user: &str, domain: &str) -> Key {
    let password: Key = Md4::digest(utf16(password.expose())).into();
    let upper: String = user.chars().map(upper).collect();
    hmac_md5(&password, &[&utf16(&upper), &utf16(domain)])
}

/// Per character, as Windows does it: `ß` stays `ß`.
fn upper(character: char) -> char {
    let mut all = character.to_uppercase();
    match (all.next(), all.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

/// The response to the server's challenge.
pub(crate) struct Proof {
    /// The proof and the data that it covers.
    pub(crate) response: Vec<u8>,
    /// The shared session key.
    pub(crate) session_key: Key,
}

/// Proves knowledge of `account_key`. `pairs` ends with its terminator; `time` is in
/// units of 100 ns since 1601.
pub(crate) fn prove(
    account_key: &Key,
    server_challenge: [u8; 8],
    client_challenge: [u8; 8],
    time: u64,
    pairs: &[u8],
) -> Proof {
    let mut covered = vec![1, 1, 0, 0, 0, 0, 0, 0];
    covered.extend_from_slice(&time.to_le_bytes());
    covered.extend_from_slice(&client_challenge);
    covered.extend_from_slice(&[0; 4]);
    covered.extend_from_slice(pairs);
    covered.extend_from_slice(&[0; 4]);
    let proof = hmac_md5(account_key, &[&server_challenge, &covered]);
    let session_key = hmac_md5(account_key, &[&proof]);
    Proof {
        response: [&proof, covered.as_slice()].concat(),
        session_key,
    }
}

pub(crate) fn rc4(key: &Key) -> Rc4 {
    use rc4::KeyInit as _;
    #[expect(clippy::expect_used, reason = "RC4 takes keys of 1 to 256 bytes")]
    Rc4::new_from_slice(key).expect("RC4 takes keys of 1 to 256 bytes")
}

/// Applies RC4 from the start of its key stream.
pub(crate) fn rc4_once(key: &Key, data: &mut [u8]) {
    rc4(key).apply_keystream(data);
}
