//! Reproducible random numbers for tests.

use std::time::{SystemTime, UNIX_EPOCH};

pub struct SeededRng(u64);

impl SeededRng {
    /// Seeded with `CASEMENT_SEED`, or from the clock; prints the seed so that the run
    /// can be replayed.
    pub fn from_environment() -> Self {
        let variable = std::env::var("CASEMENT_SEED").ok();
        let seed = match variable {
            Some(text) => text.parse().expect("CASEMENT_SEED is a number"),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                u64::from(now.subsec_nanos())
            }
        };
        println!("CASEMENT_SEED={seed} replays this run");
        Self::new(seed)
    }

    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number in `0..limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % limit
    }
}
