//! Time and chance, which the store takes from outside so that tests can
//! choose them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock and a source of random numbers.
pub trait Ambient {
    /// Milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// Any number.
    fn random(&mut self) -> u64;
}

/// The real ones.
#[derive(Debug, Default)]
pub struct SystemAmbient;

impl Ambient for SystemAmbient {
    fn now(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Good for ids, not for secrets: the keys of a hash map.
    fn random(&mut self) -> u64 {
        RandomState::new().build_hasher().finish()
    }
}

/// Time that stands still until told, and numbers that count up.
#[derive(Debug, Default)]
pub struct FixedAmbient {
    /// See [`Ambient::now`].
    pub now: u64,
    /// The last number given.
    pub last: u64,
}

impl Ambient for FixedAmbient {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn random(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

/// A new random id in Windows' form, lower case.
pub fn new_id(ambient: &mut dyn Ambient) -> String {
    let (high, low) = (ambient.random(), ambient.random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0x0FFF,
        low >> 48 & 0x3FFF | 0x8000,
        low & 0xFFFF_FFFF_FFFF
    )
}
