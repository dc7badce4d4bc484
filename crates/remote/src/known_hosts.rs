//! The `known_hosts` file: which keys a host may show.
//!
//! Plain, wildcard, negated and hashed names, `[host]:port`, `@revoked`; lines
//! for certificate authorities are passed over, because certificates are not
//! asked for. A line that cannot be read is passed over too, as OpenSSH does.

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::known_hosts::{Entry, HostPatterns, Marker};
use russh::keys::{Algorithm, PublicKey};
use sha1::Sha1;

/// The lines of a file that name keys.
#[derive(Debug, Default)]
pub struct KnownHosts {
    lines: Vec<(usize, Entry)>,
}

/// What the file says about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A line has this key for this host.
    Known,
    /// No line names this host.
    Unknown,
    /// Lines name this host, none with this key; the one of the same type, else
    /// the first.
    Changed {
        /// Counted from one.
        line: usize,
        /// What is recorded there.
        recorded: Box<PublicKey>,
    },
    /// The key must not be used, whatever else the file says.
    Revoked {
        /// Counted from one.
        line: usize,
    },
}

impl KnownHosts {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Self {
        let numbered = text.lines().enumerate();
        let entries = numbered.filter_map(|(index, line)| {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                return None;
            }
            let fields = line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            Some((index + 1, fields.parse().ok()?))
        });
        Self {
            lines: entries.collect(),
        }
    }

    /// Whether `address` may show `key` on `port`.
    pub fn check(&self, address: &str, port: u16, key: &PublicKey) -> Verdict {
        let mut other: Option<(usize, &PublicKey)> = None;
        let mut known = false;
        for (line, entry) in self.of(address, port) {
            let recorded = entry.public_key();
            let same = recorded.key_data() == key.key_data();
            match entry.marker() {
                Some(Marker::Revoked) if same => return Verdict::Revoked { line: *line },
                Some(_) => {}
                None if same => known = true,
                None => {
                    let same_type = |key: &PublicKey| kind(&key.algorithm());
                    let better = other.is_none_or(|(_, held)| {
                        same_type(held) != same_type(key) && same_type(recorded) == same_type(key)
                    });
                    if better {
                        other = Some((*line, recorded));
                    }
                }
            }
        }
        match other {
            _ if known => Verdict::Known,
            None => Verdict::Unknown,
            Some((line, recorded)) => Verdict::Changed {
                line,
                recorded: Box::new(recorded.clone()),
            },
        }
    }

    /// The types of key that are recorded for a host. A server has several keys
    /// and shows one: it is asked for one of these first.
    pub fn algorithms(&self, address: &str, port: u16) -> Vec<Algorithm> {
        let entries = self.of(address, port);
        let usable = entries.filter(|(_, entry)| entry.marker().is_none());
        usable
            .map(|(_, entry)| entry.public_key().algorithm())
            .collect()
    }

    fn of(&self, address: &str, port: u16) -> impl Iterator<Item = &(usize, Entry)> {
        let address = address.to_ascii_lowercase();
        let name = match port {
            22 => address,
            _ => format!("[{address}]:{port}"),
        };
        self.lines
            .iter()
            .filter(move |(_, entry)| names(entry.host_patterns(), &name))
    }
}

/// A key's type without the hash that RSA signatures carry.
pub(crate) fn kind(algorithm: &Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
        other => other.clone(),
    }
}

fn names(patterns: &HostPatterns, name: &str) -> bool {
    match patterns {
        HostPatterns::HashedName { salt, hash } => Hmac::<Sha1>::new_from_slice(salt)
            .is_ok_and(|mac| mac.chain_update(name).verify_slice(hash).is_ok()),
        HostPatterns::Patterns(patterns) => {
            let mut found = false;
            for pattern in patterns {
                let pattern = pattern.to_ascii_lowercase();
                match pattern.strip_prefix('!') {
                    Some(refused) if matches(refused.as_bytes(), name.as_bytes()) => return false,
                    Some(_) => {}
                    None => found |= matches(pattern.as_bytes(), name.as_bytes()),
                }
            }
            found
        }
    }
}

/// `*` stands for any run of characters, `?` for one.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, shorter)| matches(pattern, shorter))
        }
        (Some((b'?', rest)), Some((_, shorter))) => matches(rest, shorter),
        (Some((wanted, rest)), Some((found, shorter))) => wanted == found && matches(rest, shorter),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
