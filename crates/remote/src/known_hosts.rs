//! The `known_hosts` file: which keys a host may present.
//!
//! Supports plain, wildcard, negated and hashed names, `[host]:port` and `@revoked`.
//! Lines for certificate authorities are ignored, because host certificates are not
//! requested. Invalid lines are ignored too, as in OpenSSH.

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::known_hosts::{Entry, HostPatterns, Marker};
use russh::keys::{Algorithm, PublicKey};
use sha1::Sha1;

#[derive(Debug, Default)]
pub struct KnownHosts {
    lines: Vec<(usize, Entry)>,
}

/// The result of looking up a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Known,
    Unknown,
    /// There are lines for this host, but none with this key. Reports the line with the
    /// same key type, otherwise the first.
    Changed {
        /// Counted from 1.
        line: usize,
        recorded: Box<PublicKey>,
    },
    /// Takes precedence over every other line.
    Revoked {
        /// Counted from 1.
        line: usize,
    },
}

impl KnownHosts {
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

    /// Looks up `key` for `address` and `port`.
    pub fn check(&self, address: &str, port: u16, key: &PublicKey) -> Verdict {
        let mut other: Option<(usize, &PublicKey)> = None;
        let mut known = false;
        for (line, entry) in self.entries_for(address, port) {
            let recorded = entry.public_key();
            let same = recorded.key_data() == key.key_data();
            match entry.marker() {
                Some(Marker::Revoked) if same => return Verdict::Revoked { line: *line },
                Some(_) => {}
                None if same => known = true,
                None => {
                    let same_type = |key: &PublicKey| key_type(&key.algorithm());
                    let better = other.is_none_or(|(_, kept)| {
                        same_type(kept) != same_type(key) && same_type(recorded) == same_type(key)
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

    /// The recorded key types of a host. A server has several keys and presents one, so
    /// it is asked for one of these first.
    pub fn algorithms(&self, address: &str, port: u16) -> Vec<Algorithm> {
        let entries = self.entries_for(address, port);
        let usable = entries.filter(|(_, entry)| entry.marker().is_none());
        usable
            .map(|(_, entry)| entry.public_key().algorithm())
            .collect()
    }

    fn entries_for(&self, address: &str, port: u16) -> impl Iterator<Item = &(usize, Entry)> {
        let address = address.to_ascii_lowercase();
        let name = match port {
            22 => address,
            _ => format!("[{address}]:{port}"),
        };
        self.lines
            .iter()
            .filter(move |(_, entry)| matches_name(entry.host_patterns(), &name))
    }
}

/// The key type without the hash of RSA signatures.
pub(crate) fn key_type(algorithm: &Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
        other => other.clone(),
    }
}

fn matches_name(patterns: &HostPatterns, name: &str) -> bool {
    match patterns {
        HostPatterns::HashedName { salt, hash } => Hmac::<Sha1>::new_from_slice(salt)
            .is_ok_and(|mac| mac.chain_update(name).verify_slice(hash).is_ok()),
        HostPatterns::Patterns(patterns) => {
            let mut found = false;
            for pattern in patterns {
                let pattern = pattern.to_ascii_lowercase();
                match pattern.strip_prefix('!') {
                    Some(negated) if matches_pattern(negated.as_bytes(), name.as_bytes()) => {
                        return false;
                    }
                    Some(_) => {}
                    None => found |= matches_pattern(pattern.as_bytes(), name.as_bytes()),
                }
            }
            found
        }
    }
}

/// `*` matches any sequence of characters, `?` exactly one.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches_pattern(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, shorter)| matches_pattern(pattern, shorter))
        }
        (Some((b'?', rest)), Some((_, shorter))) => matches_pattern(rest, shorter),
        (Some((expected, rest)), Some((found, shorter))) => {
            expected == found && matches_pattern(rest, shorter)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
