//! Repeatable random numbers.

#![allow(dead_code, reason = "two tests use different parts")]

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// From `CASEMENT_SEED`, or from a fixed seed; the seed is printed.
    pub fn from_environment() -> Self {
        let seed = std::env::var("CASEMENT_SEED").ok();
        let seed = seed.map_or(20_261_115, |seed| seed.parse().unwrap());
        println!("CASEMENT_SEED={seed}");
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    /// True once in `of` times.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
