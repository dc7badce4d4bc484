//! NTLM version 2, client side: the three messages of a login, and message sealing.
//!
//! Supports only what WinRM on supported Windows versions uses: Unicode, extended
//! session security, 128 bit, key exchange. A server that offers less is rejected; there
//! is no NTLM version 1 and no LM.

use casement_resource::Secret;

pub(crate) mod crypto;
mod message;
pub(crate) mod seal;
#[cfg(test)]
mod tests;

pub(crate) use message::{Challenge, Pair, flags, put_pair};

use crypto::{Key, account_key, hmac_md5, md5, prove, rc4_once, utf16};
use message::{Fields, VERSION, negotiate};

pub(crate) struct Account<'a> {
    pub(crate) user: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) password: &'a Secret,
}

impl<'a> Account<'a> {
    /// `DOMAIN\user`, a plain name, or `user@domain`, which is sent unchanged.
    pub(crate) fn new(login: &'a str, password: &'a Secret) -> Self {
        let (domain, user) = login.split_once('\\').unwrap_or(("", login));
        Self {
            user,
            domain,
            password,
        }
    }
}

/// Random values and the time of a login; fixed in tests.
pub(crate) struct Nonces {
    pub(crate) client_challenge: [u8; 8],
    pub(crate) session_key: Key,
    /// Used if the server does not send its own time.
    pub(crate) time: u64,
}

pub(crate) struct Login<'a> {
    account: Account<'a>,
    first: Vec<u8>,
}

/// The third message of a login, and the session key.
pub(crate) struct AuthenticateMessage {
    pub(crate) message: Vec<u8>,
    pub(crate) session_key: Key,
}

impl<'a> Login<'a> {
    pub(crate) fn new(account: Account<'a>) -> Self {
        Self {
            account,
            first: negotiate(),
        }
    }

    pub(crate) fn negotiate(&self) -> &[u8] {
        &self.first
    }

    /// Responds to the server's challenge. `binding` binds the login to its TLS
    /// connection; `service` is the target name.
    pub(crate) fn authenticate(
        &self,
        challenge: &Challenge,
        binding: Option<[u8; 16]>,
        service: &str,
        nonces: &Nonces,
    ) -> AuthenticateMessage {
        let account = &self.account;
        let pairs = client_pairs(challenge, binding, service);
        let key = account_key(account.password, account.user, account.domain);
        let proof = prove(
            &key,
            challenge.challenge,
            nonces.client_challenge,
            challenge.time().unwrap_or(nonces.time),
            &pairs,
        );
        let mut exchanged = nonces.session_key;
        rc4_once(&proof.session_key, &mut exchanged);
        let mut message = self.encode(challenge, &proof.response, &exchanged);
        let mic = hmac_md5(
            &nonces.session_key,
            &[&self.first, &challenge.bytes, &message],
        );
        if let Some(slot) = message.get_mut(MIC..MIC + mic.len()) {
            slot.copy_from_slice(&mic);
        }
        AuthenticateMessage {
            message,
            session_key: nonces.session_key,
        }
    }

    fn encode(&self, challenge: &Challenge, response: &[u8], exchanged: &Key) -> Vec<u8> {
        let mut fields = Fields::after(MIC + 16);
        let no_lm = [0; 24];
        let parts = [
            fields.put(&no_lm),
            fields.put(response),
            fields.put(&utf16(self.account.domain)),
            fields.put(&utf16(self.account.user)),
            // The workstation name is not needed.
            fields.put(&[]),
            fields.put(exchanged),
        ];
        let mut message = b"NTLMSSP\0\x03\0\0\0".to_vec();
        for part in parts {
            message.extend_from_slice(&part);
        }
        let agreed = challenge.flags & flags::OURS;
        message.extend_from_slice(&agreed.to_le_bytes());
        message.extend_from_slice(&VERSION);
        message.extend_from_slice(&[0; 16]);
        message.extend_from_slice(&fields.payload);
        message
    }
}

/// The channel binding as NTLM encodes it.
pub(crate) fn channel_binding_hash(data: &[u8]) -> [u8; 16] {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    // No addresses on either side, then the data (RFC 2744, 3.11).
    md5(&[&[0; 16], &length.to_le_bytes(), data])
}

/// The offset of the integrity code in the third message.
pub(crate) const MIC: usize = 72;

/// The server's AV pairs and those that the client adds.
fn client_pairs(challenge: &Challenge, binding: Option<[u8; 16]>, service: &str) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (id, value) in &challenge.pairs {
        let client_ids = [Pair::Flags, Pair::ServiceName, Pair::ChannelBinding];
        if !client_ids.iter().any(|pair| *pair as u16 == *id) {
            put_pair(&mut pairs, *id, value);
        }
    }
    // MsvAvFlags: the message has an integrity code.
    put_pair(&mut pairs, Pair::Flags as u16, &2_u32.to_le_bytes());
    let binding = binding.unwrap_or_default();
    put_pair(&mut pairs, Pair::ChannelBinding as u16, &binding);
    put_pair(&mut pairs, Pair::ServiceName as u16, &utf16(service));
    put_pair(&mut pairs, Pair::End as u16, &[]);
    pairs
}
