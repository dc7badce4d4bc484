//! Delay before an exited program is restarted.

use std::time::Duration;

use casement_resource::{RESTART_FIRST_SECONDS, RESTART_LONGEST_SECONDS};

const FIRST_DELAY: Duration = Duration::from_secs(RESTART_FIRST_SECONDS);
const LONGEST_DELAY: Duration = Duration::from_secs(RESTART_LONGEST_SECONDS);
/// A program that ran for this long was healthy; the delay starts over.
const RESET_AFTER: Duration = Duration::from_secs(120);

/// Doubles with each exit.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    pub fn new() -> Self {
        Self { next: FIRST_DELAY }
    }

    pub fn next(&mut self, uptime: Duration) -> Duration {
        if uptime >= RESET_AFTER {
            self.next = FIRST_DELAY;
        }
        let delay = self.next;
        self.next = (self.next * 2).min(LONGEST_DELAY);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_limit() {
        let mut backoff = Backoff::new();
        let delays: Vec<u64> = (0..8)
            .map(|_| backoff.next(FIRST_DELAY).as_secs())
            .collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn long_run_resets_the_delay() {
        let mut backoff = Backoff::new();
        backoff.next(FIRST_DELAY);
        backoff.next(FIRST_DELAY);
        assert_eq!(backoff.next(RESET_AFTER), FIRST_DELAY);
    }
}
