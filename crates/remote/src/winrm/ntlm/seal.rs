//! Sealing and signing of messages after the login (MS-NLMP 3.4.3, with extended session
//! security, 128 bit and key exchange).

use rc4::{Rc4, StreamCipher as _};

use super::super::sealed::{SealError, Sealer};
use super::crypto::{Key, hmac_md5, md5, rc4};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

pub(crate) const SIGNATURE: usize = 16;

/// The message is not from the other side, or out of sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature of a sealed message is wrong")]
pub(crate) struct BadSignature;

/// Keys and stream state of one direction.
struct Direction {
    sign: Key,
    stream: Rc4,
    sequence: u32,
}

impl Direction {
    fn new(session_key: &Key, from: Side) -> Self {
        let (sign, seal): (&[u8], &[u8]) = match from {
            Side::Client => (
                b"session key to client-to-server signing key magic constant\0",
                b"session key to client-to-server sealing key magic constant\0",
            ),
            Side::Server => (
                b"session key to server-to-client signing key magic constant\0",
                b"session key to server-to-client sealing key magic constant\0",
            ),
        };
        let seal = md5(&[session_key, seal]);
        Self {
            sign: md5(&[session_key, sign]),
            stream: rc4(&seal),
            sequence: 0,
        }
    }

    /// The signature of the next message; the key stream must be behind the message.
    fn signature(&mut self, plain: &[u8]) -> [u8; SIGNATURE] {
        let sequence = self.sequence.to_le_bytes();
        let mac = hmac_md5(&self.sign, &[&sequence, plain]);
        let mut check = [0; 8];
        check.copy_from_slice(mac.split_at(8).0);
        self.stream.apply_keystream(&mut check);
        self.sequence = self.sequence.wrapping_add(1);
        let mut signature = [0; SIGNATURE];
        let parts = [1_u32.to_le_bytes().as_slice(), &check, &sequence].concat();
        signature.copy_from_slice(&parts);
        signature
    }
}

/// Both directions of an authenticated connection.
pub(crate) struct Sealing {
    outgoing: Direction,
    incoming: Direction,
}

impl Sealing {
    pub(crate) fn new(session_key: &Key, side: Side) -> Self {
        let other = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Self {
            outgoing: Direction::new(session_key, side),
            incoming: Direction::new(session_key, other),
        }
    }

    pub(crate) fn seal(&mut self, message: &[u8]) -> ([u8; SIGNATURE], Vec<u8>) {
        let mut sealed = message.to_vec();
        self.outgoing.stream.apply_keystream(&mut sealed);
        (self.outgoing.signature(message), sealed)
    }

    /// Unseals the next message of the other side.
    pub(crate) fn unseal(
        &mut self,
        signature: &[u8],
        sealed: &[u8],
    ) -> Result<Vec<u8>, BadSignature> {
        let mut message = sealed.to_vec();
        self.incoming.stream.apply_keystream(&mut message);
        let expected = self.incoming.signature(&message);
        // No timing attack: one wrong attempt ends the connection and invalidates the
        // keys.
        match signature == expected {
            true => Ok(message),
            false => Err(BadSignature),
        }
    }
}

impl Sealer for Sealing {
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SealError> {
        let (signature, sealed) = Self::seal(self, message);
        Ok((signature.to_vec(), sealed))
    }

    fn unseal(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, BadSignature> {
        Self::unseal(self, signature, sealed)
    }
}
