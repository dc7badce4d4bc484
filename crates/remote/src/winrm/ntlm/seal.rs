//! Sealing and signing of messages after the login (MS-NLMP 3.4.3, with extended
//! session security, 128 bit, and a key that was exchanged).

use rc4::{Rc4, StreamCipher as _};

use super::super::sealed::{NotSealed, Seals};
use super::crypto::{Key, hmac_md5, md5, rc4};

/// Which side of the connection one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The length of a signature.
pub(crate) const SIGNATURE: usize = 16;

/// A message that is not from the other side, or came out of turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature of a sealed message is wrong")]
pub(crate) struct Forged;

/// One direction: its keys, and how far its stream is.
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

    /// The signature of the next message; the stream is behind the message.
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

/// What a logged-in connection seals with, both ways.
pub(crate) struct Sealing {
    out: Direction,
    back: Direction,
}

impl Sealing {
    pub(crate) fn new(session_key: &Key, side: Side) -> Self {
        let other = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Self {
            out: Direction::new(session_key, side),
            back: Direction::new(session_key, other),
        }
    }

    /// Seals the next message.
    pub(crate) fn seal(&mut self, message: &[u8]) -> ([u8; SIGNATURE], Vec<u8>) {
        let mut sealed = message.to_vec();
        self.out.stream.apply_keystream(&mut sealed);
        (self.out.signature(message), sealed)
    }

    /// Opens the next message of the other side.
    pub(crate) fn open(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Forged> {
        let mut message = sealed.to_vec();
        self.back.stream.apply_keystream(&mut message);
        let expected = self.back.signature(&message);
        // The time that this takes tells nothing of use: one wrong try ends the
        // connection, and with it the keys.
        match signature == expected {
            true => Ok(message),
            false => Err(Forged),
        }
    }
}

impl Seals for Sealing {
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), NotSealed> {
        let (signature, sealed) = Self::seal(self, message);
        Ok((signature.to_vec(), sealed))
    }

    fn open(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Forged> {
        Self::open(self, signature, sealed)
    }
}
