//! Polling with exponential backoff until a deadline.

use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct RetryTimer {
    deadline: Instant,
    pause: Duration,
}

impl RetryTimer {
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_millis(500);

    pub fn new(timeout: Duration) -> Self {
        Self {
            deadline: Instant::now() + timeout,
            pause: Self::FIRST_PAUSE,
        }
    }

    /// Sleeps; returns false when the deadline has passed.
    pub fn wait(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.pause.min(left));
        self.pause = (self.pause * 2).min(Self::LONGEST_PAUSE);
        true
    }
}
