//! NTLM version 2, the client's side: the three messages of a login, and the
//! sealing behind it.
//!
//! Only what WinRM on supported Windows takes: Unicode, extended session
//! security, 128 bit, exchanged keys. A server that offers less is refused; there
//! is no NTLM version 1 and no LM here.

use casement_resource::Secret;

pub(crate) mod crypto;
mod message;
pub(crate) mod seal;
#[cfg(test)]
mod tests;

pub(crate) use message::{Challenge, Pair, flags, put_pair};

use crypto::{Key, account_key, hmac_md5, md5, prove, rc4_once, utf16};
use message::{Fields, VERSION, negotiate};

/// Who logs in.
pub(crate) struct Account<'a> {
    pub(crate) user: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) password: &'a Secret,
}

impl<'a> Account<'a> {
    /// `DOMAIN\user`, or a name alone, or `user@domain`, which goes as it is.
    pub(crate) fn new(login: &'a str, password: &'a Secret) -> Self {
        let (domain, user) = login.split_once('\\').unwrap_or(("", login));
        Self {
            user,
            domain,
            password,
        }
    }
}

/// What makes one login unlike another; given by tests, drawn otherwise.
pub(crate) struct Dice {
    pub(crate) client_challenge: [u8; 8],
    pub(crate) session_key: Key,
    /// Used where the server does not say its own.
    pub(crate) time: u64,
}

/// A login under way.
pub(crate) struct Login<'a> {
    account: Account<'a>,
    first: Vec<u8>,
}

/// The last message of a login, and the key behind it.
pub(crate) struct Proven {
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

    /// The first message.
    pub(crate) fn negotiate(&self) -> &[u8] {
        &self.first
    }

    /// Answers the server's challenge. `binding` ties the login to the TLS
    /// connection that it goes through; `service` names whom it is meant for.
    pub(crate) fn answer(
        &self,
        challenge: &Challenge,
        binding: Option<[u8; 16]>,
        service: &str,
        dice: &Dice,
    ) -> Proven {
        let account = &self.account;
        let pairs = answered_pairs(challenge, binding, service);
        let key = account_key(account.password, account.user, account.domain);
        let proof = prove(
            &key,
            challenge.challenge,
            dice.client_challenge,
            challenge.time().unwrap_or(dice.time),
            &pairs,
        );
        let mut exchanged = dice.session_key;
        rc4_once(&proof.session_key, &mut exchanged);
        let mut message = self.lay_out(challenge, &proof.response, &exchanged);
        let mic = hmac_md5(
            &dice.session_key,
            &[&self.first, &challenge.bytes, &message],
        );
        if let Some(place) = message.get_mut(MIC..MIC + mic.len()) {
            place.copy_from_slice(&mic);
        }
        Proven {
            message,
            session_key: dice.session_key,
        }
    }

    fn lay_out(&self, challenge: &Challenge, response: &[u8], exchanged: &Key) -> Vec<u8> {
        let mut fields = Fields::after(MIC + 16);
        let no_lm = [0; 24];
        let parts = [
            fields.put(&no_lm),
            fields.put(response),
            fields.put(&utf16(self.account.domain)),
            fields.put(&utf16(self.account.user)),
            // The name of this machine is nobody's business.
            fields.put(&[]),
            fields.put(exchanged),
        ];
        let mut message = b"NTLMSSP\0\x03\0\0\0".to_vec();
        for part in parts {
            message.extend_from_slice(&part);
        }
        let both = challenge.flags & flags::OURS;
        message.extend_from_slice(&both.to_le_bytes());
        message.extend_from_slice(&VERSION);
        message.extend_from_slice(&[0; 16]);
        message.extend_from_slice(&fields.payload);
        message
    }
}

/// What ties a login to a connection, as NTLM writes it.
pub(crate) fn bound_to(data: &[u8]) -> [u8; 16] {
    // It is a certificate's hash and its name.
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    // No addresses on either side, then the data (RFC 2744, 3.11).
    md5(&[&[0; 16], &length.to_le_bytes(), data])
}

/// Where the third message has its integrity code.
pub(crate) const MIC: usize = 72;

/// The server's own description, and what we add to it.
fn answered_pairs(challenge: &Challenge, binding: Option<[u8; 16]>, service: &str) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (id, value) in &challenge.pairs {
        let ours = [Pair::Flags, Pair::ServiceName, Pair::ChannelBinding];
        if !ours.iter().any(|pair| *pair as u16 == *id) {
            put_pair(&mut pairs, *id, value);
        }
    }
    // There is an integrity code.
    put_pair(&mut pairs, Pair::Flags as u16, &2_u32.to_le_bytes());
    let binding = binding.unwrap_or_default();
    put_pair(&mut pairs, Pair::ChannelBinding as u16, &binding);
    put_pair(&mut pairs, Pair::ServiceName as u16, &utf16(service));
    put_pair(&mut pairs, Pair::End as u16, &[]);
    pairs
}
