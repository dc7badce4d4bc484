//! Waiting for something that cannot be waited for: looking again, at first
//! often, then less so, until a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// How long is left, and how long until the next look.
#[derive(Debug)]
pub struct Patience {
    deadline: Instant,
    pause: Duration,
}

impl Patience {
    const FIRST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(500);

    /// Lasts for the time given.
    pub fn new(within: Duration) -> Self {
        Self {
            deadline: Instant::now() + within,
            pause: Self::FIRST,
        }
    }

    /// Waits a little; false when the time is over.
    pub fn wait(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.pause.min(left));
        self.pause = (self.pause * 2).min(Self::LONGEST);
        true
    }
}
