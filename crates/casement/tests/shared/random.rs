//! Moments that only a seed decides.

use std::time::{SystemTime, UNIX_EPOCH};

/// A row of numbers, the same for the same seed.
pub struct Chance(u64);

impl Chance {
    /// From `CASEMENT_SEED`, or from the clock; says which, so that a run can be
    /// had again.
    pub fn from_environment() -> Self {
        let given = std::env::var("CASEMENT_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos())
        });
        println!("CASEMENT_SEED={seed} replays this run");
        Self(seed)
    }

    /// The next number, below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % limit
    }
}
