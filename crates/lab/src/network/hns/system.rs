//! The clock and random numbers of the store, injectable for tests.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

pub trait System {
    /// Milliseconds since 1970.
    fn now(&mut self) -> u64;
    fn random(&mut self) -> u64;
}

#[derive(Debug, Default)]
pub struct RealSystem;

impl System for RealSystem {
    fn now(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Good enough for ids, not for secrets.
    fn random(&mut self) -> u64 {
        RandomState::new().build_hasher().finish()
    }
}

/// A fixed time and numbers that count up, for tests.
#[derive(Debug, Default)]
pub struct FakeSystem {
    /// Milliseconds since 1970.
    pub now: u64,
    /// The last number returned.
    pub last: u64,
}

impl System for FakeSystem {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn random(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

/// A random GUID in lower case.
pub fn new_id(system: &mut dyn System) -> String {
    let (high, low) = (system.random(), system.random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0x0FFF,
        low >> 48 & 0x3FFF | 0x8000,
        low & 0xFFFF_FFFF_FFFF
    )
}
